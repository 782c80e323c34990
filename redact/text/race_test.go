//go:build race

package text_test

// hostileBytes is smaller here: the race detector makes the same work take twenty
// times as long, and growth is looked for in the other build.
const hostileBytes = 32 << 10
