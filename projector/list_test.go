package projector_test

import (
	stdjson "encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolharness/harness/projector"
)

func TestListForm(t *testing.T) {
	t.Parallel()
	list := projector.NewList(1000)
	list.Set("service", "checkout")
	list.Set("z", map[string]int{"b": 2, "a": 1})
	for i := range 3 {
		if !list.Add(map[string]any{"id": i}) {
			t.Fatalf("item %d does not fit", i)
		}
	}
	list.Omit(7)
	want := `{"service":"checkout","z":{"a":1,"b":2},"items":[{"id":0},{"id":1},{"id":2}],"returned":3,"omitted":7}`
	if got := string(list.JSON()); got != want || list.Err() != nil {
		t.Errorf("JSON = %s (%v), want %s", got, list.Err(), want)
	}
	if list.Returned() != 3 || list.Omitted() != 7 {
		t.Errorf("returned %d omitted %d, want 3 and 7", list.Returned(), list.Omitted())
	}
}

func TestListEmptyAndNamed(t *testing.T) {
	t.Parallel()
	list := projector.NewNamedList("hits", 200)
	if got, want := string(list.JSON()), `{"hits":[],"returned":0,"omitted":0}`; got != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
	list.Add(1)
	list.Add(2)
	if got, want := string(list.JSON()), `{"hits":[1,2],"returned":2,"omitted":0}`; got != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
}

func TestListValues(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		`12345678901234567890.10`:                stdjson.Number("12345678901234567890.10"),
		`{"n":9007199254740993}`:                 map[string]stdjson.Number{"n": "9007199254740993"},
		`[1.0,1E400,-0]`:                         stdjson.RawMessage(`[1.0, 1E400, -0]`),
		`{"b":1,"a":9007199254740993}`:           jsontext.Value(`{"b":1,"a":9007199254740993}`),
		`9223372036854775807`:                    int64(math.MaxInt64),
		`null`:                                   nil,
		`"<&> \"quoted\" é"`:                     `<&> "quoted" é`,
		`"a\u0000\n\u001b\u007f\u0085b"`:         "a\x00\n\x1b\x7f\u0085b",
		`"\u202e\u2066\u200b\u2028\ufeff\u00ad"`: "\u202e\u2066\u200b\u2028\ufeff\u00ad",
		`"\udb40\udc41"`:                         "\U000E0041",
		`{"\u202ekey":1}`:                        map[string]int{"\u202ekey": 1},
		"\"\u0645\u06cc\u200c\u062e \U0001F469\u200d\U0001F52C\"": "\u0645\u06cc\u200c\u062e \U0001F469\u200d\U0001F52C",
	} {
		list := projector.NewList(1000)
		if !list.Add(value) || list.Err() != nil {
			t.Errorf("Add(%v): %v", value, list.Err())
			continue
		}
		if got, want := string(list.JSON()), `{"items":[`+want+`],"returned":1,"omitted":0}`; got != want {
			t.Errorf("JSON = %s, want %s", got, want)
		}
	}
}

func TestListRefusesValues(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"NaN": math.NaN(), "channel": make(chan int), "invalid UTF-8": "\xff", "raw that is no JSON": stdjson.RawMessage(`{`),
		"duplicate member": jsontext.Value(`{"a":1,"a":2}`), "number that is none": stdjson.Number("12x"),
		"number that is a string": stdjson.Number(`"x"`), "empty number": stdjson.Number(""),
	} {
		for verb, try := range map[string]func(*projector.List){
			"Add": func(l *projector.List) { l.Add(value) }, "Set": func(l *projector.List) { l.Set("m", value) },
		} {
			list := projector.NewList(1000)
			try(list)
			if e, ok := errors.AsType[*projector.Error](list.Err()); !ok || e.Kind != projector.Invalid {
				t.Errorf("%s of %s: %v, want an error of kind invalid", verb, name, list.Err())
			}
			if got, want := string(list.JSON()), `{"items":[],"returned":0,"omitted":0}`; got != want {
				t.Errorf("%s of %s left %s, want %s", verb, name, got, want)
			}
		}
	}
}

func TestListNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"items", "returned", "omitted", "twice", "\xff"} {
		list := projector.NewList(1000)
		list.Set("twice", 1)
		list.Set(name, 2)
		if e, ok := errors.AsType[*projector.Error](list.Err()); !ok || e.Kind != projector.Invalid {
			t.Errorf("Set(%q): %v, want an error of kind invalid", name, list.Err())
		}
		if got, want := string(list.JSON()), `{"twice":1,"items":[],"returned":0,"omitted":0}`; got != want {
			t.Errorf("JSON = %s, want %s", got, want)
		}
	}
	for _, array := range []string{"returned", "omitted", "\xff"} {
		if list := projector.NewNamedList(array, 1000); list.Err() == nil {
			t.Errorf("an array named %q is accepted", array)
		}
	}
}

// Once an item was left out all later ones are, however small: what is shown is
// the beginning.
func TestListKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	list := projector.NewList(150)
	list.Add("first")
	if list.Add(strings.Repeat("x", 200)) || list.Add("small") {
		t.Error("an item was added behind one that did not fit")
	}
	if got, want := string(list.JSON()), `{"items":["first"],"returned":1,"omitted":2}`; got != want || list.Err() != nil {
		t.Errorf("JSON = %s (%v), want %s", got, list.Err(), want)
	}
}

// A member that does not fit is an error that can be asked for; the list stays
// as it was and goes on.
func TestListSetThatDoesNotFit(t *testing.T) {
	t.Parallel()
	list := projector.NewList(150)
	list.Set("note", strings.Repeat("x", 200))
	list.Add("first")
	e, ok := errors.AsType[*projector.Error](list.Err())
	if !ok || e.Kind != projector.TooLarge || e.Limit != 150 || e.Size <= 200 {
		t.Errorf("Err = %v, want too_large with a limit of 150", list.Err())
	}
	if got, want := string(list.JSON()), `{"items":["first"],"returned":1,"omitted":0}`; got != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
}

func TestListTooSmallForAnything(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{-1, 0, 10, 60} {
		list := projector.NewList(limit)
		list.Add(1)
		if e, ok := errors.AsType[*projector.Error](list.Err()); !ok || e.Kind != projector.TooLarge || list.JSON() != nil {
			t.Errorf("limit %d: %v and %q, want too_large and nothing", limit, list.Err(), list.JSON())
		}
	}
}

func TestListOmitCounts(t *testing.T) {
	t.Parallel()
	list := projector.NewList(150)
	list.Omit(-5)
	list.Omit(math.MaxInt64)
	list.Omit(math.MaxInt64)
	list.Add(strings.Repeat("x", 500))
	if list.Omitted() != math.MaxInt64 || len(list.JSON()) > 150 {
		t.Errorf("omitted %d in %d bytes, want the count to stop at its greatest", list.Omitted(), len(list.JSON()))
	}
}

// Whatever is put in, the result is inside the limit, one JSON object, and its
// counts add up.
func TestListNeverExceedsItsLimit(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	alphabet := []rune("a\"\\\x00é漢😀\u202e")
	text := func(most int) string {
		var b strings.Builder
		for range random.IntN(most) {
			b.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 2000 {
		limit := 90 + random.IntN(600)
		list := projector.NewList(limit)
		added := 0
		for range random.IntN(30) {
			if random.IntN(4) == 0 {
				list.Set(text(12), text(80))
				continue
			}
			list.Add(text(60))
			added++
		}
		var back struct {
			Items             []string
			Returned, Omitted int
		}
		got := list.JSON()
		if len(got) > limit {
			t.Fatalf("%d bytes, limit %d: %s", len(got), limit, got)
		}
		if err := stdjson.Unmarshal(got, &back); err != nil || back.Returned != len(back.Items) || back.Returned+back.Omitted != added {
			t.Fatalf("%s (%v), want counts that add up to %d", got, err, added)
		}
		for _, r := range string(got) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("%U stands bare in %s", r, got)
			}
		}
	}
}
