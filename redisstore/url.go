package redisstore

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// URLError says why an address is none that Dial understands. It repeats no part
// of it, since an address may hold a password.
type URLError struct{ Reason string }

// Error names the rule.
func (e *URLError) Error() string { return "redisstore: address: " + e.Reason }

// target is a parsed address.
type target struct {
	form                           form
	tls                            bool
	user, password                 string
	addrs                          []string // host:port, or the path of a socket
	db                             int
	master                         string
	sentinelUser, sentinelPassword string
}

// form is the kind of deployment that an address names.
type form int

const (
	formSingle form = iota + 1
	formSocket
	formSentinel
	formCluster
)

// targetOf begins a target with what its scheme says.
func targetOf(scheme string) (target, bool) {
	base, withTLS := strings.CutPrefix(scheme, "rediss")
	if !withTLS {
		base = strings.TrimPrefix(scheme, "redis")
	}
	switch {
	case scheme == "unix":
		return target{form: formSocket}, true
	case base == scheme: // neither redis nor rediss
		return target{}, false
	case base == "":
		return target{form: formSingle, tls: withTLS}, true
	case base == "+sentinel":
		return target{form: formSentinel, tls: withTLS}, true
	case base == "+cluster":
		return target{form: formCluster, tls: withTLS}, true
	}
	return target{}, false
}

// parseTarget reads scheme://[user[:password]@]host[,host...][/path][?name=value].
// It is not net/url's parser, which takes one host and quotes what it refuses.
func parseTarget(address string) (target, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	t, known := targetOf(scheme)
	if !ok || !known {
		return target{}, &URLError{Reason: "needs one of the schemes redis, rediss, unix, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster"}
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	host := strings.LastIndexByte(rest, '@') + 1 // a password may hold a slash
	if slash := strings.IndexByte(rest[host:], '/'); slash >= 0 {
		authority, path = rest[:host+slash], rest[host+slash:]
	}
	if err := t.credentials(authority); err != nil {
		return target{}, err
	}
	for _, read := range []func() error{
		func() error { return t.hosts(authority[host:], path) },
		func() error { return t.path(path) },
		func() error { return t.query(query) },
	} {
		if err := read(); err != nil {
			return target{}, err
		}
	}
	return t, nil
}

func (t *target) credentials(authority string) error {
	i := strings.LastIndexByte(authority, '@')
	if i < 0 {
		return nil
	}
	user, password, _ := strings.Cut(authority[:i], ":")
	var err1, err2 error
	t.user, err1 = url.PathUnescape(user)
	t.password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return &URLError{Reason: "user or password has a bad percent escape"}
	}
	return nil
}

// hosts reads the list of servers; a port that is not given is the usual one.
func (t *target) hosts(list, path string) error {
	if t.form == formSocket {
		if list != "" || path == "" {
			return &URLError{Reason: "a unix address needs an absolute path"}
		}
		t.addrs = []string{path}
		return nil
	}
	port := "6379"
	if t.form == formSentinel {
		port = "26379"
	}
	for _, host := range strings.Split(list, ",") {
		addr, err := hostPort(host, port)
		if err != nil {
			return err
		}
		t.addrs = append(t.addrs, addr)
	}
	if t.form == formSingle && len(t.addrs) > 1 {
		return &URLError{Reason: "more than one host; use redis+cluster or redis+sentinel"}
	}
	return nil
}

func hostPort(text, fallback string) (string, error) {
	host, port := text, fallback
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:i], text[i+1:]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", &URLError{Reason: "a port is not a number from 1 to 65535"}
	}
	if host == "" || strings.ContainsAny(host, " /@") {
		return "", &URLError{Reason: "a host is missing or not a host"}
	}
	return net.JoinHostPort(host, port), nil
}

// path is the number of the database or, for a sentinel, the name of the master.
func (t *target) path(path string) error {
	name := strings.Trim(path, "/")
	switch t.form {
	case formSingle:
		if name != "" {
			return t.database(name)
		}
	case formSentinel:
		if name == "" || strings.Contains(name, "/") {
			return &URLError{Reason: "a sentinel address needs the master's name as its path"}
		}
		t.master = name
	case formCluster:
		if name != "" {
			return &URLError{Reason: "a cluster has one database, so no path"}
		}
	}
	return nil
}

func (t *target) query(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return &URLError{Reason: "the part behind ? cannot be read"}
	}
	for name, list := range values {
		value := list[len(list)-1]
		switch {
		case name == "db" && t.form != formCluster:
			if err := t.database(value); err != nil {
				return err
			}
		case name == "sentinel_username" && t.form == formSentinel:
			t.sentinelUser = value
		case name == "sentinel_password" && t.form == formSentinel:
			t.sentinelPassword = value
		default:
			return &URLError{Reason: "a parameter is not known for this scheme"}
		}
	}
	return nil
}

func (t *target) database(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return &URLError{Reason: "the database is not a number"}
	}
	t.db = n
	return nil
}
