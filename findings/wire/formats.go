package wire

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/findings"
)

func readChat(body []byte) (Reading, error) {
	var request struct {
		Messages []struct {
			Role       string         `json:"role"`
			ToolCallID string         `json:"tool_call_id"`
			Content    jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return Reading{}, err
	}
	if request.Messages == nil {
		return Reading{}, errNoList
	}
	var r Reading
	for _, m := range request.Messages {
		if m.Role == "tool" {
			r.add(m.ToolCallID, content(m.Content))
		}
	}
	return r, nil
}

// readResponses reads items. An item_reference, a previous response and a
// conversation stand for items that the provider keeps.
func readResponses(body []byte) (Reading, error) {
	var request struct {
		Input        jsontext.Value `json:"input"`
		Previous     string         `json:"previous_response_id"`
		Conversation jsontext.Value `json:"conversation"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return Reading{}, err
	}
	r := Reading{Stored: request.Previous != "" || given(request.Conversation)}
	switch request.Input.Kind() {
	case '"':
		return r, nil
	case '[':
	default:
		if r.Stored && !given(request.Input) {
			return r, nil
		}
		return Reading{}, errNoList
	}
	var items []struct {
		Type   string         `json:"type"`
		CallID string         `json:"call_id"`
		ID     string         `json:"id"`
		Output jsontext.Value `json:"output"`
	}
	if err := json.Unmarshal(request.Input, &items); err != nil {
		return Reading{}, err
	}
	for _, item := range items {
		switch {
		case item.Type == "item_reference":
			r.Stored = true
		case item.Type == "local_shell_call_output" && item.CallID == "":
			r.add(item.ID, content(item.Output)) // the one type that is answered by the id of the item
		case answersCall(item.Type):
			r.add(item.CallID, content(item.Output))
		}
	}
	return r, nil
}

// answersCall tells the items by which a host answers from those of tools that
// the provider runs.
func answersCall(kind string) bool {
	switch strings.TrimSuffix(kind, "_output") {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "computer_call", "apply_patch_call":
		return strings.HasSuffix(kind, "_output")
	}
	return false
}

func readAnthropic(body []byte) (Reading, error) {
	var r Reading
	err := eachBlock(body, func(block jsontext.Value) error {
		var b struct {
			Type      string         `json:"type"`
			ToolUseID jsontext.Value `json:"tool_use_id"` // of other types, too
			Content   jsontext.Value `json:"content"`
		}
		if err := json.Unmarshal(block, &b); err != nil || b.Type != "tool_result" {
			return err
		}
		id, err := text(b.ToolUseID)
		r.add(id, content(b.Content))
		return err
	})
	return r, err
}

func readBedrock(body []byte) (Reading, error) {
	var r Reading
	err := eachBlock(body, func(block jsontext.Value) error {
		var b struct {
			Result *struct {
				ToolUseID string         `json:"toolUseId"`
				Content   jsontext.Value `json:"content"`
			} `json:"toolResult"`
		}
		if err := json.Unmarshal(block, &b); err != nil || b.Result == nil {
			return err
		}
		r.add(b.Result.ToolUseID, content(b.Result.Content))
		return nil
	})
	return r, err
}

// eachBlock hands over the blocks of the messages of Anthropic and Bedrock.
func eachBlock(body []byte, visit func(jsontext.Value) error) error {
	var request struct {
		Messages []struct {
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	if request.Messages == nil {
		return errNoList
	}
	for _, m := range request.Messages {
		if m.Content.Kind() != '[' {
			continue // one text
		}
		var blocks []jsontext.Value
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return err
		}
		for _, block := range blocks {
			if err := visit(block); err != nil {
				return err
			}
		}
	}
	return nil
}

func readGemini(body []byte) (Reading, error) {
	type response struct {
		ID       string         `json:"id"`
		Response jsontext.Value `json:"response"`
	}
	var request struct {
		Contents []struct {
			Parts []struct {
				Camel *response `json:"functionResponse"`
				Snake *response `json:"function_response"`
			} `json:"parts"`
		} `json:"contents"`
		Cached      jsontext.Value `json:"cachedContent"`
		CachedSnake jsontext.Value `json:"cached_content"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return Reading{}, err
	}
	if request.Contents == nil {
		return Reading{}, errNoList
	}
	r := Reading{Stored: given(request.Cached) || given(request.CachedSnake)}
	for _, c := range request.Contents {
		for _, p := range c.Parts {
			for _, answer := range []*response{p.Camel, p.Snake} {
				if answer != nil {
					r.add(answer.ID, object(answer.Response))
				}
			}
		}
	}
	return r, nil
}

func (r *Reading) add(id string, texts []string) {
	r.Served = append(r.Served, findings.Served{ID: id, Texts: texts})
}

// given reports whether a member is there and not null or empty.
func given(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' && string(v) != `""` }

// content digests what a result holds: a string, or parts that are all text, as
// one text; one part of JSON as its bytes. An absent one is the empty text.
func content(v jsontext.Value) []string {
	if !given(v) {
		return digests("")
	}
	if v.Kind() == '"' {
		whole, err := text(v)
		if err != nil {
			return nil
		}
		return digests(whole)
	}
	var parts []struct {
		Type string         `json:"type"`
		Text *string        `json:"text"`
		JSON jsontext.Value `json:"json"`
	}
	if json.Unmarshal(v, &parts) != nil {
		return nil
	}
	if len(parts) == 1 && len(parts[0].JSON) > 0 {
		return object(parts[0].JSON)
	}
	var whole strings.Builder
	for _, p := range parts {
		if p.Text == nil || p.Type != "" && !strings.HasSuffix(p.Type, "text") {
			return nil
		}
		whole.WriteString(*p.Text)
	}
	return digests(whole.String())
}

// object digests a result that is JSON: its bytes, and where it has one member
// alone which is a string, that string, since hosts wrap a text so.
func object(v jsontext.Value) []string {
	if !given(v) {
		return digests("")
	}
	all := digests(string(v))
	var members map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &members) != nil || len(members) != 1 {
		return all
	}
	for _, only := range members {
		if only.Kind() == '"' {
			if inner, err := text(only); err == nil {
				all = append(all, digests(inner)...)
			}
		}
	}
	return all
}

func text(v jsontext.Value) (string, error) {
	var s string
	if !given(v) {
		return "", nil
	}
	err := json.Unmarshal(v, &s)
	return s, err
}

func digests(text string) []string { return []string{findings.TextDigest([]byte(text))} }
