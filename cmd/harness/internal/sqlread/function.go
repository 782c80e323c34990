package sqlread

import "strings"

// permitsFunction names the SQL functions that a model may call. They compute a value from their arguments, the clock or
// chance; none reads a file, loads code, writes a log or tells what other statements on the connection did. Denied of
// those that the engine has: load_extension, sqlite_log, the compile option and source functions, changes,
// total_changes, last_insert_rowid. A test compares this list with the engine, so that a new function is noticed.
func permitsFunction(name string) bool {
	name = strings.ToLower(name)
	return isCoreFunction(name) || isAggregateFunction(name) || isMathFunction(name) || isJSONFunction(name)
}

// https://sqlite.org/lang_corefunc.html and https://sqlite.org/lang_datefunc.html
func isCoreFunction(name string) bool {
	switch name {
	case "abs", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if", "ifnull", "iif", "instr", "length",
		"like", "likelihood", "likely", "lower", "ltrim", "match", "max", "min", "nullif", "octet_length", "printf", "quote",
		"random", "randomblob", "regexp", "regexpi", "replace", "round", "rtrim", "sign", "soundex", "sqlite_version", "substr",
		"substring", "subtype", "trim", "typeof", "unhex", "unicode", "unistr", "unistr_quote", "unlikely", "upper", "zeroblob",
		"base64",
		"current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time", "timediff",
		"unixepoch":
		return true
	}
	return false
}

// https://sqlite.org/lang_aggfunc.html and https://sqlite.org/windowfunctions.html
func isAggregateFunction(name string) bool {
	switch name {
	case "avg", "count", "group_concat", "string_agg", "sum", "total", "median", "percentile", "percentile_cont", "percentile_disc",
		"cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile", "percent_rank", "rank",
		"row_number":
		return true
	}
	return false
}

// https://sqlite.org/lang_mathfunc.html, with the decimal and ieee754 extensions that the engine is built with
func isMathFunction(name string) bool {
	switch name {
	case "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh", "degrees", "exp", "floor",
		"ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc":
		return true
	}
	return strings.HasPrefix(name, "decimal") || strings.HasPrefix(name, "ieee754")
}

// https://sqlite.org/json1.html; the arrows are functions for the engine
func isJSONFunction(name string) bool {
	return name == "->" || name == "->>" || name == "json" || name == "jsonb" ||
		strings.HasPrefix(name, "json_") || strings.HasPrefix(name, "jsonb_")
}
