//go:build !race

package text_test

const hostileBytes = 512 << 10
