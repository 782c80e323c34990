package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// finding is a row and the tests that show it.
type finding struct {
	row
	shown   map[string][]string // store to names of passing tests; anyStore holds all of them
	skipped int                 // lowest tests of this number that were skipped
}

// missing lists the stores of the row for which no test passed.
func (f finding) missing() []string {
	var out []string
	for _, s := range f.stores {
		if len(f.shown[s]) == 0 {
			out = append(out, s)
		}
	}
	return out
}

// judge matches rows with results. The second value lists numbers that tests
// name and no row does, which is most often a slip in one of the two.
func judge(rows []row, r *results) (found []finding, strangers []string) {
	byNumber := map[string]*finding{}
	for _, one := range rows {
		found = append(found, finding{row: one, shown: map[string][]string{}})
	}
	for i := range found {
		byNumber[found[i].number] = &found[i]
	}
	unknown := map[string]bool{}
	for _, id := range r.lowest() {
		for _, number := range numbersOf(id.name) {
			f := byNumber[number]
			if f == nil {
				unknown[number] = true
				continue
			}
			f.note(id, r)
		}
	}
	for number := range unknown {
		strangers = append(strangers, number)
	}
	return found, sorted(strangers)
}

func (f *finding) note(id testID, r *results) {
	if r.tests[id] == skipped {
		f.skipped++
	}
	if !r.holds(id) {
		return
	}
	label := path.Base(id.pkg) + "." + id.name
	f.shown[anyStore] = append(f.shown[anyStore], label)
	for _, s := range storesOf(id.name) {
		f.shown[s] = append(f.shown[s], label)
	}
}

// lowest returns the tests that have no subtests, in a stable order. A parent
// passes when all its subtests are skipped, so parents show nothing.
func (r *results) lowest() []testID {
	parents := map[testID]bool{}
	for id := range r.tests {
		for up, ok := parent(id); ok; up, ok = parent(up) {
			parents[up] = true
		}
	}
	var out []testID
	for id := range r.tests {
		if !parents[id] {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b testID) int {
		return strings.Compare(a.pkg+"\x00"+a.name, b.pkg+"\x00"+b.name)
	})
	return out
}

// holds reports whether the test passed and nothing above it failed on its own
// account: a parent may find after its subtests that what they saw was wrong. A
// parent that only inherits the failure of another subtest takes nothing away,
// so that one failure does not hide what the others show.
func (r *results) holds(id testID) bool {
	if r.tests[id] != passed {
		return false
	}
	for up, ok := parent(id); ok; up, ok = parent(up) {
		if v := r.tests[up]; v != passed && !(v == failed && r.inherited[up]) {
			return false
		}
	}
	return true
}

func parent(id testID) (testID, bool) {
	i := strings.LastIndexByte(id.name, '/')
	if i < 0 {
		return testID{}, false
	}
	return testID{id.pkg, id.name[:i]}, true
}

var (
	numberPrefix = regexp.MustCompile(`^(?:[A-Z][0-9]{2,3}_)+`)
	oneNumber    = regexp.MustCompile(`[A-Z][0-9]{2,3}`)
	repeatSuffix = regexp.MustCompile(`#[0-9]+$`) // go test adds it to the second of two equal names
)

// numbersOf lists the scenarios that a test's name claims, each once.
func numbersOf(name string) []string {
	var out []string
	for i, element := range strings.Split(name, "/") {
		if i == 0 {
			element = strings.TrimPrefix(strings.TrimPrefix(element, "Test"), "Fuzz")
		}
		for _, number := range oneNumber.FindAllString(numberPrefix.FindString(element), -1) {
			if !slices.Contains(out, number) {
				out = append(out, number)
			}
		}
	}
	return out
}

func storesOf(name string) []string {
	var out []string
	for _, element := range strings.Split(name, "/") {
		element = repeatSuffix.ReplaceAllString(element, "")
		if element != anyStore && slices.Contains(stores(), element) && !slices.Contains(out, element) {
			out = append(out, element)
		}
	}
	return out
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
