package redisstore

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// reply is the answer of a script: a word and what stands behind it.
type reply struct {
	word     string
	fields   []string
	replicas int // that had the message when it was answered; 0 where none were asked
}

// ReplyError reports an answer that no script of this version gives: a bug, or
// something between us and the server. It does not repeat the answer.
type ReplyError struct {
	Script string
	Reason string
}

// Error names script and rule.
func (e *ReplyError) Error() string {
	return fmt.Sprintf("redisstore: reply of script %s: %s", e.Script, e.Reason)
}

// reply reads what a server answered to the script.
func (sc *script) reply(cmd *redis.Cmd) (reply, error) {
	value, err := cmd.Result()
	if err != nil {
		return reply{}, err
	}
	return sc.parse(value)
}

// parse accepts a flat array of strings that begins with one of the script's
// words and has as many elements as the word asks for.
func (sc *script) parse(value any) (reply, error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return reply{}, &ReplyError{Script: sc.name, Reason: "not an array with a word"}
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			return reply{}, &ReplyError{Script: sc.name, Reason: fmt.Sprintf("element %d is not a string", i)}
		}
	}
	r := reply{word: texts[0], fields: texts[1:]}
	want, known := sc.replies[r.word]
	switch {
	case !known:
		return reply{}, &ReplyError{Script: sc.name, Reason: "unknown word"}
	case len(want) == 1 && len(r.fields) != want[0], len(want) > 1 && len(r.fields) < want[0]:
		return reply{}, &ReplyError{Script: sc.name, Reason: fmt.Sprintf("%d elements behind the word", len(r.fields))}
	}
	return r, nil
}
