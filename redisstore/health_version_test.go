package redisstore

import (
	"slices"
	"testing"
)

// Servers that this machine does not have are judged by what they say of
// themselves.
func TestHealth_judges_versions(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		servers []info
		version string
		want    []Finding
	}{
		"7.0":           {[]info{{"redis_version": "7.0.15"}}, "7.0.15", nil},
		"8.2":           {[]info{{"redis_version": "8.2.1"}}, "8.2.1", nil},
		"6.2":           {[]info{{"redis_version": "6.2.14"}}, "6.2.14", []Finding{{Warning, "version", "version 6.2; nothing below 7.0 is tested"}}},
		"6.0":           {[]info{{"redis_version": "6.0.16"}}, "6.0.16", []Finding{{Fault, "version", "version 6.0; 6.2 is the oldest that has every command used"}}},
		"the oldest":    {[]info{{"redis_version": "7.2.0"}, {"redis_version": "6.2.0"}, {"redis_version": "7.0.0"}}, "6.2.0", []Finding{{Warning, "version", "version 6.2; nothing below 7.0 is tested"}}},
		"Valkey":        {[]info{{"redis_version": "7.2.4", "valkey_version": "8.0.1", "server_name": "valkey"}}, "8.0.1", []Finding{{Warning, "version", "Valkey 8.0; Valkey is not tested"}}},
		"says nothing":  {[]info{{}}, "", []Finding{{Warning, "version", "the server does not say which version it is"}}},
		"no number":     {[]info{{"redis_version": "next\r\nrelease"}}, "next\r\nrelease", []Finding{{Fault, "version", "version 0.0; 6.2 is the oldest that has every command used"}}},
		"nobody to ask": {nil, "", []Finding{{Warning, "version", "the server does not say which version it is"}}},
	} {
		var r Report
		r.version(c.servers)
		if r.Version != c.version || !slices.Equal(r.Findings, c.want) {
			t.Errorf("%s: version %q, findings %+v; want %q, %+v", what, r.Version, r.Findings, c.version, c.want)
		}
	}
}

func TestHealth_judges_roles(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		servers []info
		faults  int
	}{
		"masters":      {[]info{{"role": "master"}, {"role": "master"}}, 0},
		"one is none":  {[]info{{"role": "master"}, {"role": "slave"}, {"role": "slave"}}, 1},
		"says nothing": {[]info{{}}, 0},
	} {
		var r Report
		r.roles(c.servers)
		if len(r.Findings) != c.faults || c.faults > 0 && (r.Findings[0].Level != Fault || r.Findings[0].About != "role") {
			t.Errorf("%s: findings %+v, want %d faults about the role", what, r.Findings, c.faults)
		}
	}
}
