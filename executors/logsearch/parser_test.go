package logsearch_test

import (
	"testing"
	"time"

	"github.com/toolharness/harness/executors/logsearch"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// parsed is a line and what must come of it.
type parsed struct {
	line string
	head logsearch.Head // zero with none
	none bool           // the line begins no record
}

func checkParser(t *testing.T, p logsearch.Parser, cases map[string]parsed) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := p.ParseLine(c.line)
			if ok == c.none {
				t.Fatalf("begins a record: got %t, want %t", ok, !c.none)
			}
			if !got.Time.Equal(c.head.Time) {
				t.Errorf("time: got %v, want %v", got.Time, c.head.Time)
			}
			got.Time, c.head.Time = time.Time{}, time.Time{}
			if got != c.head {
				t.Errorf("got %+v, want %+v", got, c.head)
			}
		})
	}
}

func TestLog4j(t *testing.T) {
	t.Parallel()
	noon := at("2016-12-19T20:39:48.918Z")
	checkParser(t, logsearch.Log4j{}, map[string]parsed{
		"kafka": {line: "[2016-12-19 20:39:48,918] WARN [Thread-0], Error (kafka.server.X$Y_1)",
			head: logsearch.Head{Time: noon, Level: "WARN", Service: "kafka.server.X$Y_1", Message: "[Thread-0], Error (kafka.server.X$Y_1)"}},
		"no_brackets":        {line: "2016-12-19 20:39:48,918 WARN  two blanks", head: logsearch.Head{Time: noon, Level: "WARN", Message: " two blanks"}},
		"thread":             {line: "2016-12-19 20:39:48.918 [main] INFO  o.a.F - up", head: logsearch.Head{Time: noon, Level: "INFO", Message: "[main] INFO  o.a.F - up"}},
		"level_in_brackets":  {line: "2016-12-19 20:39:48,918 [warn] x", head: logsearch.Head{Time: noon, Level: "warn", Message: "x"}},
		"no_level":           {line: "[2016-12-19 20:39:48,918] error in capitals would be one", head: logsearch.Head{Time: noon, Message: "error in capitals would be one"}},
		"level_goes_on":      {line: "[2016-12-19 20:39:48,918] ERROR_COUNT 3", head: logsearch.Head{Time: noon, Message: "ERROR_COUNT 3"}},
		"colon":              {line: "[2016-12-19 20:39:48,918] ERROR: x", head: logsearch.Head{Time: noon, Level: "ERROR", Message: "x"}},
		"nothing_behind":     {line: "[2016-12-19 20:39:48,918] INFO", head: logsearch.Head{Time: noon, Level: "INFO"}},
		"time_only":          {line: "[2016-12-19 20:39:48,918]", head: logsearch.Head{Time: noon}},
		"no_fraction":        {line: "[2016-12-19 20:39:48] INFO x", head: logsearch.Head{Time: at("2016-12-19T20:39:48Z"), Level: "INFO", Message: "x"}},
		"nanoseconds":        {line: "[2016-12-19 20:39:48,123456789] INFO x", head: logsearch.Head{Time: at("2016-12-19T20:39:48.123456789Z"), Level: "INFO", Message: "x"}},
		"zone_in_the_line":   {line: "[2016-12-19T20:39:48+02:00] INFO x", head: logsearch.Head{Time: at("2016-12-19T18:39:48Z"), Level: "INFO", Message: "x"}},
		"no_such_day":        {line: "[2016-02-30 20:39:48,918] INFO x", head: logsearch.Head{Level: "INFO", Message: "x"}},
		"no_such_second":     {line: "[2016-12-31 23:59:60,000] INFO x", head: logsearch.Head{Level: "INFO", Message: "x"}},
		"no_service":         {line: "[2016-12-19 20:39:48,918] INFO took (3 ms)", head: logsearch.Head{Time: noon, Level: "INFO", Message: "took (3 ms)"}},
		"number_no_service":  {line: "[2016-12-19 20:39:48,918] INFO took (3)", head: logsearch.Head{Time: noon, Level: "INFO", Message: "took (3)"}},
		"chinese":            {line: "[2016-12-19 20:39:48,918] 错误 INFO 连接", head: logsearch.Head{Time: noon, Message: "错误 INFO 连接"}},
		"bracket_not_closed": {line: "[2016-12-19 20:39:48,918 INFO x", none: true},
		"stack_trace":        {line: "\tat kafka.utils.X.apply(X.scala:115)", none: true},
		"exception":          {line: "java.io.IOException: Connection to 2 was disconnected", none: true},
		"empty":              {line: "", none: true},
		"short":              {line: "[2016-12-19 20:39", none: true},
		"date_only":          {line: "2016-12-19", none: true},
		"letters_for_digits": {line: "[2016-12-l9 20:39:48,918] INFO x", none: true},
	})
}

func TestLog4jLocation(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	for name, p := range map[string]logsearch.Parser{"log4j": logsearch.Log4j{Location: east}, "rfc3339": logsearch.RFC3339Lines{Location: east}} {
		head, ok := p.ParseLine("2016-12-19 20:39:48 INFO x")
		if want := at("2016-12-19T18:39:48Z"); !ok || !head.Time.Equal(want) {
			t.Errorf("%s without a zone: got %v, %t, want %v", name, head.Time, ok, want)
		}
		head, ok = p.ParseLine("2016-12-19T20:39:48Z INFO x")
		if want := at("2016-12-19T20:39:48Z"); !ok || !head.Time.Equal(want) {
			t.Errorf("%s with a zone: got %v, %t, want %v", name, head.Time, ok, want)
		}
	}
}

func TestRFC3339Lines(t *testing.T) {
	t.Parallel()
	noon := at("2026-01-02T03:04:05.678Z")
	checkParser(t, logsearch.RFC3339Lines{}, map[string]parsed{
		"utc":            {line: "2026-01-02T03:04:05.678Z WARN slow answer", head: logsearch.Head{Time: noon, Level: "WARN", Message: "slow answer"}},
		"offset":         {line: "2026-01-02T04:04:05.678+01:00 [error] closed", head: logsearch.Head{Time: noon, Level: "error", Message: "closed"}},
		"small_letters":  {line: "2026-01-02t03:04:05.678z x", head: logsearch.Head{Time: noon, Message: "x"}},
		"tab":            {line: "2026-01-02T03:04:05.678Z\tINFO\tx", head: logsearch.Head{Time: noon, Level: "INFO", Message: "x"}},
		"no_level":       {line: "2026-01-02T03:04:05.678Z error is the first word", head: logsearch.Head{Time: noon, Message: "error is the first word"}},
		"other_brackets": {line: "2026-01-02T03:04:05.678Z [main] INFO x", head: logsearch.Head{Time: noon, Message: "[main] INFO x"}},
		"bracket_open":   {line: "2026-01-02T03:04:05.678Z [error x", head: logsearch.Head{Time: noon, Message: "[error x"}},
		"no_zone":        {line: "2026-01-02 03:04:05.678 x", head: logsearch.Head{Time: noon, Message: "x"}},
		"only_a_time":    {line: "2026-01-02T03:04:05.678Z", head: logsearch.Head{Time: noon}},
		"no_such_hour":   {line: "2026-01-02T25:04:05Z x", head: logsearch.Head{Message: "x"}},
		"no_such_zone":   {line: "2026-01-02T03:04:05+99:99 x", head: logsearch.Head{Message: "x"}},
		"before_year_0":  {line: "0000-01-01T00:00:00+14:00 x", head: logsearch.Head{Message: "x"}},
		"goes_on":        {line: "2026-01-02T03:04:05.678Zulu x", none: true},
		"full_stop":      {line: "2026-01-02T03:04:05. x", none: true},
		"in_the_middle":  {line: "x 2026-01-02T03:04:05Z", none: true},
		"continuation":   {line: "  caused by", none: true},
	})
}

func TestRFC3339SmallLevels(t *testing.T) {
	t.Parallel()
	noon := at("2026-01-02T03:04:05Z")
	checkParser(t, logsearch.RFC3339Lines{SmallLevels: true}, map[string]parsed{
		"small":      {line: "2026-01-02T03:04:05Z info up", head: logsearch.Head{Time: noon, Level: "info", Message: "up"}},
		"mixed":      {line: "2026-01-02T03:04:05Z Warning: up", head: logsearch.Head{Time: noon, Level: "Warning", Message: "up"}},
		"capitals":   {line: "2026-01-02T03:04:05Z ERROR up", head: logsearch.Head{Time: noon, Level: "ERROR", Message: "up"}},
		"other_word": {line: "2026-01-02T03:04:05Z started", head: logsearch.Head{Time: noon, Message: "started"}},
		"goes_on":    {line: "2026-01-02T03:04:05Z errors: 3", head: logsearch.Head{Time: noon, Message: "errors: 3"}},
	})
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	noon := at("2026-01-02T03:04:05.678Z")
	checkParser(t, logsearch.JSONLines{Epoch: time.Second}, map[string]parsed{
		"slog": {line: `{"time":"2026-01-02T03:04:05.678Z","level":"WARN","msg":"slow","order":9007199254740993}`,
			head: logsearch.Head{Time: noon, Level: "WARN", Message: `slow {"order":9007199254740993}`}},
		"zap":           {line: `{"level":"info","ts":1767323045.678,"logger":"shop","msg":"up"}`, head: logsearch.Head{Time: noon, Level: "info", Service: "shop", Message: "up"}},
		"all_roles":     {line: `{"@timestamp":"2026-01-02T03:04:05.678Z","severity":"ERROR","message":"m","service":"s","host":"h","id":"7"}`, head: logsearch.Head{Time: noon, Level: "ERROR", Service: "s", Instance: "h", ID: "7", Message: "m"}},
		"number_level":  {line: `{"level":30,"msg":"x"}`, head: logsearch.Head{Level: "30", Message: "x"}},
		"first_name":    {line: `{"message":"second","msg":"first"}`, head: logsearch.Head{Message: `first {"message":"second"}`}},
		"repeated":      {line: `{"msg":"a","msg":"b"}`, head: logsearch.Head{Message: `a {"msg":"b"}`}},
		"no_message":    {line: `{"a":1,"b":[1.50,"x"]}`, head: logsearch.Head{Message: `{"a":1,"b":[1.50,"x"]}`}},
		"object_msg":    {line: `{"msg":{"a":1}}`, head: logsearch.Head{Message: `{"msg":{"a":1}}`}},
		"null_level":    {line: `{"level":null,"msg":"x"}`, head: logsearch.Head{Message: `x {"level":null}`}},
		"bad_time":      {line: `{"time":"yesterday","msg":"x"}`, head: logsearch.Head{Message: `x {"time":"yesterday"}`}},
		"second_time":   {line: `{"time":"yesterday","ts":"2026-01-02T03:04:05.678Z","msg":"x"}`, head: logsearch.Head{Time: noon, Message: `x {"time":"yesterday"}`}},
		"exponent_time": {line: `{"ts":1e999999999,"msg":"x"}`, head: logsearch.Head{Message: `x {"ts":1e999999999}`}},
		"huge_time":     {line: `{"ts":99999999999999999999999,"msg":"x"}`, head: logsearch.Head{Message: `x {"ts":99999999999999999999999}`}},
		"negative_time": {line: `{"ts":-1.5,"msg":"x"}`, head: logsearch.Head{Time: at("1969-12-31T23:59:58.5Z"), Message: "x"}},
		"true_time":     {line: `{"ts":true,"msg":"x"}`, head: logsearch.Head{Message: `x {"ts":true}`}},
		"escapes":       {line: `{"msg":"a\n\"b\" 中"}`, head: logsearch.Head{Message: "a\n\"b\" 中"}},
		"empty_object":  {line: `{}`, head: logsearch.Head{}},
		"blanks":        {line: ` {"msg":"x"} `, head: logsearch.Head{Message: "x"}},
		"cut":           {line: `{"msg":"x"`, none: true},
		"cut_in_name":   {line: `{"ms`, none: true},
		"no_colon":      {line: `{"msg" "x"}`, none: true},
		"two_objects":   {line: `{"msg":"x"}{"msg":"y"}`, none: true},
		"prose_behind":  {line: `{"msg":"x"} and more`, none: true},
		"array":         {line: `["msg"]`, none: true},
		"prose":         {line: `goroutine 1 [running]:`, none: true},
		"empty":         {line: ``, none: true},
	})
}

func TestJSONLinesNames(t *testing.T) {
	t.Parallel()
	p := logsearch.JSONLines{Time: []string{"when"}, Level: []string{"how"}, Message: []string{"what"}, Service: []string{"who"}, Instance: []string{"where"}, ID: []string{"which"}}
	head, ok := p.ParseLine(`{"when":"2026-01-02T03:04:05Z","how":"BAD","what":"m","who":"s","where":"i","which":1,"msg":"other"}`)
	want := logsearch.Head{Time: at("2026-01-02T03:04:05Z"), Level: "BAD", Service: "s", Instance: "i", ID: "1", Message: `m {"msg":"other"}`}
	if !ok || !head.Time.Equal(want.Time) {
		t.Fatalf("got %v, %t, want %v", head.Time, ok, want.Time)
	}
	if head.Time = want.Time; head != want {
		t.Errorf("got %+v, want %+v", head, want)
	}
	// Without a unit a number is no time.
	if head, ok := (logsearch.JSONLines{}).ParseLine(`{"ts":1767323045,"msg":"x"}`); !ok || !head.Time.IsZero() || head.Message != `x {"ts":1767323045}` {
		t.Errorf("got %+v, %t, want no time and the number in the message", head, ok)
	}
	if head, _ := (logsearch.JSONLines{Epoch: time.Millisecond}).ParseLine(`{"t":1767323045678}`); !head.Time.Equal(at("2026-01-02T03:04:05.678Z")) {
		t.Errorf("milliseconds: got %v", head.Time)
	}
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "x", "[2016-12-19 20:39:48,918] INFO x"} {
		if head, ok := (logsearch.PlainLines{}).ParseLine(line); !ok || head != (logsearch.Head{Message: line}) {
			t.Errorf("%q: got %+v, %t, want the line as message and nothing else", line, head, ok)
		}
	}
}
