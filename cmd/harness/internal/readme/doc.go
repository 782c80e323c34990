// Package readme runs the agent loop that the README shows, on a real database file that could be written, with a model
// that follows a script. It holds tests only; they are here because the root module has no SQL engine.
package readme
