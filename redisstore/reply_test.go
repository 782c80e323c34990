package redisstore

import (
	"errors"
	"strings"
	"testing"
)

func TestReply_accepts_what_the_table_has(t *testing.T) {
	t.Parallel()
	for _, sc := range newScripts().all() {
		for word, elements := range sc.replies {
			value := []any{word}
			for range elements[0] {
				value = append(value, "1")
			}
			r, err := sc.parse(value)
			if err != nil || r.word != word || len(r.fields) != elements[0] {
				t.Errorf("%s: %v gives %+v, %v", sc.name, value, r, err)
			}
			if longer, err := sc.parse(append(value, "x")); (err == nil) != (len(elements) > 1) {
				t.Errorf("%s: one element more behind %s gives %+v, %v", sc.name, word, longer, err)
			}
			if elements[0] > 0 {
				if shorter, err := sc.parse(value[:len(value)-1]); err == nil {
					t.Errorf("%s: one element less behind %s gives %+v", sc.name, word, shorter)
				}
			}
		}
	}
}

func TestReply_refuses_what_no_script_says(t *testing.T) {
	t.Parallel()
	sc := newScripts().admit
	const secret = "harness:v1:{secret}"
	for what, value := range map[string]any{
		"nil": nil, "a string": secret, "a number": int64(1), "nothing": []any{}, "an unknown word": []any{secret},
		"another script's word": []any{"settled"}, "a number among strings": []any{"duplicate", int64(1)},
		"nil among strings": []any{"duplicate", nil}, "a list inside": []any{"duplicate", []any{secret}},
		"a map": map[any]any{"created": secret}, "capital letters": []any{"Missing"},
	} {
		r, err := sc.parse(value)
		var bad *ReplyError
		if !errors.As(err, &bad) || bad.Script != "admit" || r.word != "" {
			t.Errorf("%s: %+v, %v; want a ReplyError of admit", what, r, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error repeats the answer: %v", what, err)
		}
	}
}
