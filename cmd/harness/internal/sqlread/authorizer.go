package sqlread

import (
	"strings"

	"github.com/ncruces/go-sqlite3"
)

const (
	actionWrite  = "WRITE"         // passed the authorizer and is not read only all the same
	actionSchema = "SCHEMA CHANGE" // create, drop, alter, reindex, analyze
)

// authorizer is asked by the engine, while it compiles a statement, about each step that the statement would take
// (https://sqlite.org/c3ref/set_authorizer.html). What no case permits is denied, so that an action of a later
// engine is denied too.
type authorizer struct {
	readable map[string]bool // tables and views that existed when the database was opened
	refused  string          // the first denied action of the current statement
}

// decide is the callback for statements of a model.
func (a *authorizer) decide(action sqlite3.AuthorizerActionCode, third, fourth, schema, _ string) sqlite3.AuthorizerReturnCode {
	if a.permits(action, third, fourth, schema) {
		return sqlite3.AUTH_OK
	}
	if a.refused == "" {
		a.refused = actionName(action, third)
	}
	return sqlite3.AUTH_DENY
}

// permits holds the whole policy. The meaning of third and fourth changes with the action; see the engine's page.
func (a *authorizer) permits(action sqlite3.AuthorizerActionCode, third, fourth, schema string) bool {
	switch action {
	case sqlite3.AUTH_SELECT, sqlite3.AUTH_RECURSIVE:
		return true
	case sqlite3.AUTH_READ:
		// Without a column the engine asks about a name in FROM of which no value is read, and that may be one that the
		// statement gave to a part of itself. All that can be learned then is a number of rows.
		return fourth == "" || (schema == "main" || schema == "") && (a.readable[third] || permitsTableFunction(third))
	case sqlite3.AUTH_FUNCTION:
		return permitsFunction(fourth)
	case sqlite3.AUTH_PRAGMA:
		return permitsPragma(third)
	default:
		return false
	}
}

// decideIdle is the callback between statements: it lets this package begin and end its transaction and lets the
// driver ask for query_only, which it does once when it opens a connection. A statement that reached a connection
// by another way could read nothing.
func decideIdle(action sqlite3.AuthorizerActionCode, third, fourth, _, _ string) sqlite3.AuthorizerReturnCode {
	switch {
	case action == sqlite3.AUTH_TRANSACTION && (third == "BEGIN" || third == "ROLLBACK"),
		action == sqlite3.AUTH_PRAGMA && third == "query_only" && fourth == "":
		return sqlite3.AUTH_OK
	}
	return sqlite3.AUTH_DENY
}

// permitsPragma names the pragmas that describe tables and can change nothing, whatever their argument.
// database_list is not among them: it tells the path of the file.
func permitsPragma(name string) bool {
	switch strings.ToLower(name) {
	case "table_info", "table_xinfo", "table_list", "foreign_key_list", "index_list", "index_info", "index_xinfo":
		return true
	}
	return false
}

// permitsTableFunction names what may stand in FROM without being a table of the database. The engine's own
// sqlite_dbpage, dbstat and the like would serve bytes from behind the tables.
func permitsTableFunction(name string) bool {
	if pragma, ok := strings.CutPrefix(name, "pragma_"); ok {
		return permitsPragma(pragma)
	}
	switch name {
	case "sqlite_schema", "sqlite_master", "json_each", "json_tree", "generate_series":
		return true
	}
	return false
}

// actionName gives the words for a denied action. The engine changes its schema by writing to a table of its own and
// asks about that write first, so writes to that table are named after what they are.
func actionName(action sqlite3.AuthorizerActionCode, table string) string {
	switch action {
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE:
		if strings.HasPrefix(table, "sqlite_") {
			return actionSchema
		}
		return map[sqlite3.AuthorizerActionCode]string{
			sqlite3.AUTH_INSERT: "INSERT", sqlite3.AUTH_UPDATE: "UPDATE", sqlite3.AUTH_DELETE: "DELETE",
		}[action]
	case sqlite3.AUTH_READ:
		return "READ"
	case sqlite3.AUTH_FUNCTION:
		return "FUNCTION"
	case sqlite3.AUTH_PRAGMA:
		return "PRAGMA"
	case sqlite3.AUTH_TRANSACTION, sqlite3.AUTH_SAVEPOINT:
		return "TRANSACTION"
	case sqlite3.AUTH_ATTACH, sqlite3.AUTH_DETACH:
		return "ATTACH"
	default: // create, drop, alter, reindex, analyze, and whatever a later engine asks about
		return actionSchema
	}
}
