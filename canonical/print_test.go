package canonical_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/toolharness/harness/canonical"
)

// marker stands in every body, token and claim. It must come out nowhere.
const marker = "Marker4711"

// disguises are the ways in which printing may show it.
func disguises() []string {
	decimal := strings.Trim(fmt.Sprint([]byte(marker)), "[]")
	goSyntax := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(marker)), "[]byte{"), "}")
	return []string{
		marker, strings.ToLower(marker), hex.EncodeToString([]byte(marker)), strings.ToUpper(hex.EncodeToString([]byte(marker))),
		fmt.Sprintf("% x", marker), decimal, strings.ReplaceAll(decimal, " ", ","), strings.ReplaceAll(decimal, " ", ", "), goSyntax,
		fmt.Sprintf("%o", []byte(marker)), fmt.Sprintf("%b", []byte(marker)),
		base64.StdEncoding.EncodeToString([]byte(marker))[:12],
	}
}

// secrets are the types that hide what they hold. A field of another type of
// bytes would be found by TestPrint_no_other_bytes.
func secrets() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[canonical.Body](), reflect.TypeFor[canonical.Token](), reflect.TypeFor[canonical.Claim]()}
}

// fill puts the marker into every secret inside v and returns how many there
// were. Pointers are made, slices get one element.
func fill(v reflect.Value) int {
	for _, secret := range secrets() {
		if v.Type() == secret {
			v.Set(reflect.ValueOf([]byte(marker)).Convert(secret))
			return 1
		}
	}
	n := 0
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				n += fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		n += fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		n += fill(v.Index(0))
	}
	return n
}

// printed are the types that hold secrets, with how many each has.
func printed(t *testing.T) map[string]struct {
	value   any
	secrets int
} {
	t.Helper()
	request, err := canonical.ParseRequest([]byte(`{"password":"`+marker+`"}`), 1000)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]struct {
		value   any
		secrets int
	}{
		"Request":           {request, 1},
		"a struct of it":    {struct{ R canonical.Request }{request}, 1},
		"NewRaw":            {canonical.NewRaw([]byte(marker)), 1},
		"a map of bodies":   {map[string]canonical.Body{"a": canonical.Body(marker)}, 1},
		"a slice of tokens": {[]canonical.Token{marker}, 1},
		"an array":          {[1]canonical.Claim{marker}, 1},
		"any":               {struct{ V any }{canonical.Body(marker)}, 1},
	}
	for want, values := range map[int][]any{
		1: {new(canonical.Body), new(canonical.Token), new(canonical.Claim), new(canonical.Raw), new(canonical.Closing), new(canonical.RawPart)},
		2: {new(canonical.Head), new(canonical.Saving), new(canonical.LateResult), new(canonical.Admission), new(canonical.Settlement)},
		3: {new(canonical.View)},
		5: {new(canonical.Record), new(canonical.Ending)},
		0: {new(canonical.RunState), new(canonical.Admitted), new(canonical.Ended), new(canonical.Resolution), new(canonical.ClosedRun), new(canonical.Outstanding)},
	} {
		for _, pointer := range values {
			v := reflect.ValueOf(pointer).Elem()
			if got := fill(v); got != want {
				t.Errorf("%v has %d secrets, want %d", v.Type(), got, want)
			}
			out[v.Type().Name()] = struct {
				value   any
				secrets int
			}{v.Interface(), want}
			inside := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "P", Type: reflect.PointerTo(v.Type())}})).Elem()
			inside.Field(0).Set(v.Addr())
			out["a struct with a *"+v.Type().Name()] = struct {
				value   any
				secrets int
			}{inside.Interface(), want}
			out["*"+v.Type().Name()] = struct {
				value   any
				secrets int
			}{pointer, want}
		}
	}
	opening := canonical.Opening{Token: marker, Limits: canonical.DefaultLimits()}
	out["Opening"] = struct {
		value   any
		secrets int
	}{opening, 1}
	return out
}

func TestT63_prints_no_body_token_or_claim(t *testing.T) {
	t.Parallel()
	for name, p := range printed(t) {
		for how, text := range renderings(t, p.value) {
			for _, disguise := range disguises() {
				if strings.Contains(text, disguise) {
					t.Errorf("%s with %s shows %q: %.200s", name, how, disguise, text)
				}
			}
			if p.secrets > 0 && text == "" {
				t.Errorf("%s with %s prints nothing", name, how)
			}
		}
	}
}

func renderings(t *testing.T, value any) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%10.3v", "%z"} {
		out[verb] = fmt.Sprintf(verb, value)
	}
	out["error"] = fmt.Errorf("with %v and %w", value, fmt.Errorf("%v", value)).Error()
	for how, marshal := range map[string]func(any) ([]byte, error){
		"json":        json.Marshal,
		"json indent": func(v any) ([]byte, error) { return json.MarshalIndent(v, "", " ") },
		"json v2":     func(v any) ([]byte, error) { return jsonv2.Marshal(v, jsonv2.FormatNilSliceAsNull(true)) },
	} {
		text, err := marshal(value)
		if err != nil && !strings.Contains(err.Error(), "time.Duration") { // v2 wants a format for durations
			t.Errorf("%s of %T: %v", how, value, err)
		}
		out[how] = string(text) + fmt.Sprint(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "value", value)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "value", value)
	out["slog"] = logged.String()
	return out
}

// The test above is worth nothing if its search is blind.
func TestPrint_search_finds_what_is_shown(t *testing.T) {
	t.Parallel()
	for how, text := range renderings(t, []byte(marker)) {
		switch how {
		case "%c", "%U", "%t", "%e", "%10.3v", "%z":
			continue // shown in ways that nobody could read back from a log by accident
		}
		found := false
		for _, disguise := range disguises() {
			found = found || strings.Contains(text, disguise)
		}
		if !found {
			t.Errorf("with %s plain bytes are not recognised in %q", how, text)
		}
	}
}

// Every slice of bytes that a store is given or gives back must be a Body.
func TestPrint_no_other_bytes(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	store := reflect.TypeFor[canonical.Store]()
	for i := range store.NumMethod() {
		method := store.Method(i).Type
		for in := range method.NumIn() {
			noBytes(t, method.In(in), store.Method(i).Name, seen)
		}
		for out := range method.NumOut() {
			noBytes(t, method.Out(out), store.Method(i).Name, seen)
		}
	}
	if !seen[reflect.TypeFor[canonical.Record]()] || !seen[reflect.TypeFor[canonical.Body]()] {
		t.Error("the walk did not reach records and bodies")
	}
}

func noBytes(t *testing.T, at reflect.Type, path string, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[at] {
		return
	}
	seen[at] = true
	switch at.Kind() {
	case reflect.Slice, reflect.Array:
		if at.Elem().Kind() == reflect.Uint8 && at != reflect.TypeFor[canonical.Body]() {
			t.Errorf("%s has a %v, want a Body", path, at)
		}
		noBytes(t, at.Elem(), path, seen)
	case reflect.Pointer:
		noBytes(t, at.Elem(), path, seen)
	case reflect.Struct:
		for i := range at.NumField() {
			noBytes(t, at.Field(i).Type, path+"."+at.Field(i).Name, seen)
		}
	}
}

func TestPrint_sizes_and_placeholders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{canonical.Body("abc"), "3 bytes"}, {canonical.Body(nil), "0 bytes"}, {canonical.Body{}, "0 bytes"},
		{canonical.Token("x"), "token(hidden)"}, {canonical.Token(""), "token(hidden)"}, {canonical.Claim("x"), "claim(hidden)"},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			if got := fmt.Sprintf(verb, c.value); got != c.want {
				t.Errorf("%T with %s: %q, want %q", c.value, verb, got, c.want)
			}
		}
		text, err := json.Marshal(c.value)
		if err != nil || string(text) != `"`+c.want+`"` {
			t.Errorf("%T as JSON: %s, %v, want %q", c.value, text, err, c.want)
		}
	}
	r, err := canonical.ParseRequest([]byte(`{}`), 10)
	if got, want := fmt.Sprint(r), "2 bytes, sha256 "+r.SHA256(); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// A token is kept as its digest, which must not be the token.
func TestToken_digest(t *testing.T) {
	t.Parallel()
	a, b := canonical.Token("a").Digest(), canonical.Token("b").Digest()
	if a == b || len(a) != 64 || a != canonical.Body("a").SHA256() {
		t.Errorf("digests %q and %q", a, b)
	}
}
