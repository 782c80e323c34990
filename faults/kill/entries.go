package kill

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
)

// readEntries counts the lines of the file that the tools append to.
func readEntries(path string) (map[string]int, error) {
	counts := map[string]int{}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return counts, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		counts[lines.Text()]++
	}
	return counts, lines.Err()
}
