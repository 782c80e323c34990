package inject

import (
	"context"
	"errors"
	"hash/fnv"
	"regexp"
	"sync"

	"github.com/toolharness/harness/faults/proxy"
	"github.com/toolharness/harness/faults/report"
)

// Selection narrows a section down and sets its numbers.
type Selection struct {
	Only  *regexp.Regexp // matched with "section fault script place"; nil for all
	Each  int            // injections of each combination; 0 for the usual number
	Lanes int            // injections under way at a time; 0 for the usual number
}

func (s Selection) wants(c report.Combination) bool {
	return s.Only == nil || s.Only.MatchString(c.Section+" "+c.Fault+" "+c.Script+" "+c.Place)
}

func (s Selection) wantsAny(list []wireFault) bool {
	for _, w := range list {
		if s.wants(w.combination()) {
			return true
		}
	}
	return false
}

// job is one injection that is to be made.
type job struct {
	at    report.Combination
	seed  uint64
	bytes int  // that it leaves on the server, about
	index int  // within its combination
	warm  bool // counts for nothing
	do    func(context.Context, *bed, job) error
}

// seedOf makes the seeds of a combination, all different in the whole report.
func seedOf(base uint64, at report.Combination, i int) uint64 {
	h := fnv.New64a()
	for _, text := range []string{at.Section, at.Fault, at.Script, at.Place} {
		_, _ = h.Write([]byte(text + "\x00"))
	}
	seed := h.Sum64() ^ base*0x9e3779b97f4a7c15
	return mix(seed + uint64(i)*0xd1342543de82ef95)
}

// mix spreads what differs in one bit over all of them.
func mix(x uint64) uint64 {
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>33
}

// chunk bounds what lies on the server between two audits.
const (
	chunkJobs  = 1500
	chunkBytes = 96 << 20
)

// runJobs makes the injections in several lanes, and has each chunk audited
// before the server is emptied for the next one.
func runJobs(ctx context.Context, beds []*bed, jobs []job) (err error) {
	b, addr := beds[0].bench, beds[0].server.Addr()
	for start := 0; start < len(jobs) && err == nil; {
		end, bytes := start, 0
		for end < len(jobs) && end-start < chunkJobs && (bytes < chunkBytes || end == start) {
			bytes += jobs[end].bytes
			end++
		}
		err = errors.Join(runChunk(ctx, beds, jobs[start:end]), b.Audit(ctx, addr), beds[0].client.FlushAll(ctx).Err())
		start = end
		b.Logf("%d of %d injections", end, len(jobs))
	}
	return err
}

// field is what the servers of one section share: the scripts that were seen.
type field struct {
	section string
	scripts *proxy.Scripts
}

func newField(section string) field { return field{section, proxy.NewScripts()} }

// onServer starts a server with a number of lanes in front of it, for as long as
// do runs. The first server of a section is warmed.
func onServer(ctx context.Context, b *report.Bench, f field, lanes int, args []string, do func([]*bed) error) (err error) {
	server, err := startServer(args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	var beds []*bed
	defer func() {
		for _, lane := range beds {
			err = errors.Join(err, lane.close(ctx))
		}
	}()
	for range lanes {
		lane, err := newBed(ctx, b, server, f.scripts)
		if err != nil {
			return err
		}
		beds = append(beds, lane)
	}
	if len(f.scripts.Texts()) == 0 {
		if err := warm(ctx, beds[0], f.section); err != nil {
			return err
		}
	}
	return do(beds)
}

// runChunk gives every lane its share of the jobs, one after another. The first
// failure ends all lanes; it is one of the bench, not of the library.
func runChunk(ctx context.Context, beds []*bed, jobs []job) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan job)
	failures := make([]error, len(beds))
	var wg sync.WaitGroup
	for i, lane := range beds {
		wg.Go(func() {
			for j := range queue {
				if failures[i] != nil {
					continue
				}
				if failures[i] = j.do(ctx, lane, j); failures[i] != nil {
					cancel()
				}
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	wg.Wait()
	return errors.Join(failures...)
}
