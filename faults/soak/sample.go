package soak

import (
	"bufio"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// sampleEvery is how often memory is measured.
const sampleEvery = time.Second

// measure is one thing that is watched.
type measure struct {
	name      string
	unit      string
	scale     float64 // of the printed unit
	allowance float64 // growth that is never held against it
}

// measures are in the order of a sample's values.
var measures = [...]measure{
	{"live heap of the process", "MiB", 1 << 20, 4 << 20},
	{"goroutines of the process", "", 1, 20},
	{"used memory of Redis", "MiB", 1 << 20, 8 << 20},
	{"keys of Redis", "", 1, 500},
}

// sample is one moment.
type sample struct {
	at     time.Duration
	values [len(measures)]float64
}

// sampler measures until it is stopped.
type sampler struct {
	client  *redis.Client
	start   time.Time
	samples []sample
}

func newSampler(client *redis.Client) *sampler { return &sampler{client: client, start: time.Now()} }

func (s *sampler) run(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if one, ok := s.take(ctx); ok {
				s.samples = append(s.samples, one)
			}
		}
	}
}

// take measures once. There is no sample while the server is away.
func (s *sampler) take(ctx context.Context) (sample, bool) {
	info, err := s.client.Info(ctx, "memory").Result()
	if err != nil {
		return sample{}, false
	}
	keys, err := s.client.DBSize(ctx).Result()
	if err != nil {
		return sample{}, false
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return sample{time.Since(s.start), [len(measures)]float64{
		float64(m.HeapAlloc), float64(runtime.NumGoroutine()), infoNumber(info, "used_memory"), float64(keys),
	}}, true
}

func infoNumber(info, name string) float64 {
	lines := bufio.NewScanner(strings.NewReader(info))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			n, _ := strconv.ParseFloat(value, 64)
			return n
		}
	}
	return 0
}

// Level is one measure: its mean in each third of the time.
type Level struct {
	Name, Unit string
	Thirds     [3]float64 // in Unit
	Rising     bool       // the last third is above the second by more than is allowed
}

// growth is how much the last third may be above the second.
const growth = 1.1

// levels compares the thirds.
func (s *sampler) levels() []Level {
	var out []Level
	for i, m := range measures {
		l := Level{Name: m.name, Unit: m.unit}
		third := max(len(s.samples)/3, 1)
		var means [3]float64
		for k := range means {
			part := s.samples[min(k*third, len(s.samples)):min((k+1)*third, len(s.samples))]
			for _, one := range part {
				means[k] += one.values[i] / float64(len(part))
			}
			l.Thirds[k] = means[k] / m.scale
		}
		l.Rising = means[2] > means[1]*growth+m.allowance
		out = append(out, l)
	}
	return out
}

// String is one line of the table.
func (l Level) String() string {
	text := fmt.Sprintf("%-26s %10.1f %10.1f %10.1f %s", l.Name, l.Thirds[0], l.Thirds[1], l.Thirds[2], l.Unit)
	if l.Rising {
		text += "  RISING"
	}
	return text
}
