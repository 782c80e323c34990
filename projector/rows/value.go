package rows

import (
	"encoding"
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ValueError says which column holds a value that has no exact text.
type ValueError struct {
	Column int    // from 1
	GoType string // the driver's Go type; never the value
}

// Error names column and Go type and says what to do in the statement.
func (e *ValueError) Error() string {
	return fmt.Sprintf("column %d has the Go type %s, which has no exact text; cast it in SQL", e.Column, e.GoType)
}

func appendRow(dst []byte, cells []any) ([]byte, error) {
	dst = append(dst, '[')
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok = appendCell(dst, cell); !ok {
			return nil, &ValueError{Column: i + 1, GoType: fmt.Sprintf("%T", cell)}
		}
	}
	return append(dst, ']'), nil
}

// appendCell writes the six types of driver.Value, then whatever else drivers
// return in spite of it.
func appendCell(dst []byte, cell any) ([]byte, bool) {
	switch v := cell.(type) {
	case nil:
		return append(dst, "null"...), true
	case int64:
		return strconv.AppendInt(dst, v, 10), true
	case float64:
		return appendFloat(dst, v, 64), true
	case bool:
		return strconv.AppendBool(dst, v), true
	case []byte:
		if v == nil {
			return append(dst, "null"...), true
		}
		return appendBytes(dst, v), true
	case string:
		return appendBytes(dst, []byte(v)), true
	case time.Time:
		return appendText(dst, v.UTC().Format(time.RFC3339Nano)), true
	default:
		return appendOther(dst, v)
	}
}

// appendOther writes a type of the driver's own: as the text it gives itself
// (decimals, big numbers, UUIDs, addresses), else by its underlying kind.
func appendOther(dst []byte, cell any) ([]byte, bool) {
	v := reflect.ValueOf(cell)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return append(dst, "null"...), true
	}
	switch named := cell.(type) {
	case encoding.TextMarshaler:
		text, err := named.MarshalText()
		if err != nil {
			return dst, false
		}
		return appendBytes(dst, text), true
	case fmt.Stringer:
		return appendBytes(dst, []byte(named.String())), true
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10), true
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return strconv.AppendUint(dst, v.Uint(), 10), true
	case reflect.Uint, reflect.Uint64, reflect.Uintptr: // may pass what a reader's int64 holds
		return appendText(dst, strconv.FormatUint(v.Uint(), 10)), true
	case reflect.Float32:
		return appendFloat(dst, v.Float(), 32), true
	case reflect.Float64:
		return appendFloat(dst, v.Float(), 64), true
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), true
	case reflect.String:
		return appendBytes(dst, []byte(v.String())), true
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return appendCell(dst, v.Bytes())
		}
	}
	return dst, false
}

// appendFloat writes the shortest number that reads back as f. JSON has no
// numbers for NaN and the infinities; they become strings.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return appendText(dst, strconv.FormatFloat(f, 'g', -1, bits))
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

// appendBytes writes text as a string and anything else as marked base64, so
// that no byte is replaced.
func appendBytes(dst, b []byte) []byte {
	if utf8.Valid(b) {
		dst, _ = jsontext.AppendQuote(dst, b) // fails for invalid UTF-8 only
		return dst
	}
	dst = append(dst, `{"base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, `"}`...)
}
