package bed

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// ErrNoTool says that redis-benchmark is not on the PATH.
var ErrNoTool = errors.New("bed: NO redis-benchmark ON THE PATH")

// PlainRate is what redis-benchmark, a client in C, reaches with SET of values of
// that many bytes: commands a second.
func (s *Server) PlainRate(ctx context.Context, size, callers, commands int) (float64, error) {
	binary, err := exec.LookPath("redis-benchmark")
	if err != nil {
		return 0, ErrNoTool
	}
	host, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, binary, "-h", host, "-p", port, "-t", "set", "-r", "100000000", "--csv",
		"-d", strconv.Itoa(size), "-c", strconv.Itoa(callers), "-n", strconv.Itoa(commands)).Output()
	if err != nil {
		return 0, fmt.Errorf("bed: redis-benchmark: %w", err)
	}
	return rateIn(string(out))
}

// rateIn reads the table of redis-benchmark: a head and one row, the rate second.
func rateIn(out string) (float64, error) {
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[1]) < 2 {
		return 0, errors.New("bed: redis-benchmark printed another table than was asked for")
	}
	rate, err := strconv.ParseFloat(rows[1][1], 64)
	if err != nil || rate <= 0 {
		return 0, errors.New("bed: redis-benchmark printed no rate")
	}
	return rate, nil
}
