// Package faults breaks the way between Harness and Redis on purpose, and counts
// what became of every call.
package faults
