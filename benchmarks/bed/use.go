package bed

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Use is what servers have done since they started, or, as a difference, in a
// while. Of several nodes it is the sum.
type Use struct {
	CPU     time.Duration // of the thread that runs commands, user and system
	Reads   int64         // read events: one for each write of a client that arrives whole
	In, Out int64         // bytes from and to clients
	Memory  int64         // bytes in use
	Moved   int64         // answers MOVED, ASK or CROSSSLOT: a command that came to the wrong node
}

// Sub is u less what had been done before.
func (u Use) Sub(before Use) Use {
	return Use{
		CPU: u.CPU - before.CPU, Reads: u.Reads - before.Reads, In: u.In - before.In, Out: u.Out - before.Out,
		Memory: u.Memory - before.Memory, Moved: u.Moved - before.Moved,
	}
}

// Use asks every node. The question itself is in the answer to the next: one read
// and some bytes.
func (s *Server) Use(ctx context.Context) (Use, error) {
	var all Use
	for _, ask := range s.asks {
		info, err := readInfo(ctx, ask, "everything")
		if err != nil {
			return Use{}, err
		}
		all.CPU += seconds(info["used_cpu_user_main_thread"]) + seconds(info["used_cpu_sys_main_thread"])
		all.Reads += int64(info["total_reads_processed"])
		all.In += int64(info["total_net_input_bytes"])
		all.Out += int64(info["total_net_output_bytes"])
		all.Memory += int64(info["used_memory"])
		for _, name := range []string{"errorstat_MOVED", "errorstat_ASK", "errorstat_CROSSSLOT"} {
			all.Moved += int64(info[name])
		}
	}
	return all, nil
}

// Questions is how many reads of a difference are the questions themselves.
func (s *Server) Questions() int64 { return int64(len(s.asks)) }

// Keys is how many keys each node holds.
func (s *Server) Keys(ctx context.Context) ([]int64, error) {
	var sizes []int64
	for _, ask := range s.asks {
		n, err := ask.DBSize(ctx).Result()
		if err != nil {
			return nil, fmt.Errorf("bed: asking a node how many keys it holds: %w", err)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// Version is what the first node says of itself.
func (s *Server) Version(ctx context.Context) (string, error) {
	text, err := s.asks[0].Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("bed: asking the server's version: %w", err)
	}
	for line := range strings.Lines(text) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			return version, nil
		}
	}
	return "unknown", nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// readInfo reads the numbers of a section. errorstat_X:count=n is read as n.
func readInfo(ctx context.Context, ask *redis.Client, section string) (map[string]float64, error) {
	text, err := ask.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("bed: INFO %s: %w", section, err)
	}
	numbers := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimPrefix(value, "count=")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			numbers[name] = n
		}
	}
	return numbers, nil
}
