// Package recovery shows what a host does with a result that could not be
// stored: it keeps it, and settles it once the store is back. Nothing is run
// twice for that.
package recovery
