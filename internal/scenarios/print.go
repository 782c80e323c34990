package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// namesShown is how many tests a line lists; the count tells the rest.
const namesShown = 2

// printFindings writes one line a row: number, count per store, first tests.
func printFindings(w io.Writer, found []finding) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "scenario\tstores\tpassing tests")
	for _, f := range found {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", f.number, storesCell(f), testsCell(f))
	}
	return tw.Flush()
}

func storesCell(f finding) string {
	var parts []string
	for _, s := range f.stores {
		n := len(f.shown[s])
		if n == 0 {
			parts = append(parts, s+" MISSING")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %d", s, n))
	}
	return strings.Join(parts, ", ")
}

func testsCell(f finding) string {
	all := f.shown[anyStore]
	cell := strings.Join(all[:min(len(all), namesShown)], " ")
	if more := len(all) - namesShown; more > 0 {
		cell += fmt.Sprintf(" and %d more", more)
	}
	if f.skipped > 0 {
		cell = strings.TrimSpace(fmt.Sprintf("%s (%d skipped)", cell, f.skipped))
	}
	return cell
}

// printPackages repeats what go test itself said, with totals of this stream.
func printPackages(w io.Writer, r *results) {
	for _, line := range r.lines {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "tests: %d passed, %d failed, %d skipped, %d unfinished in %d packages\n",
		len(r.ended(passed)), len(r.ended(failed)), len(r.ended(skipped)), len(r.ended(unfinished)), len(r.packages))
	for _, name := range r.ended(skipped) {
		fmt.Fprintf(w, "SKIPPED %s\n", name)
	}
}

// printVerdict writes what is wrong and reports whether nothing is.
func printVerdict(w io.Writer, found []finding, strangers, problems []string) bool {
	missing := 0
	for _, f := range found {
		if m := f.missing(); len(m) > 0 {
			missing++
			fmt.Fprintf(w, "NOT SHOWN %s on %s: %s\n", f.number, strings.Join(m, ", "), f.words)
		}
	}
	for _, p := range problems {
		fmt.Fprintf(w, "PROBLEM %s\n", p)
	}
	if len(strangers) > 0 {
		fmt.Fprintf(w, "named by tests, no row: %s\n", strings.Join(strangers, " "))
	}
	fmt.Fprintf(w, "scenarios: %d of %d shown on all their stores\n", len(found)-missing, len(found))
	return missing == 0 && len(problems) == 0
}
