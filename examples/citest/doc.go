// Package citest shows a test of one's own tools and projectors on the embedded
// store: no server, no network, and time that the test moves.
package citest
