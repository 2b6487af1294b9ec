package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What stands between the marks is written, the rest of the page is by hand.
const (
	beginMark = "<!-- written by scripts/test-kernels -->\n"
	endMark   = "<!-- end of what is written -->\n"
)

func replaceWritten(page, written string) (string, error) {
	before, rest, ok := strings.Cut(page, beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !ok || !ends {
		return "", errors.New("it has no marks between which the results stand")
	}
	return before + beginMark + "\n" + strings.TrimSpace(written) + "\n\n" + endMark + after, nil
}

func report(results []result, packages []pkg) string {
	var b strings.Builder
	for _, r := range results {
		if r.boot == "full" {
			b.WriteString(kernelSection(r, results))
		}
	}
	b.WriteString(leftOutSection(packages))
	return b.String()
}

func kernelSection(r result, all []result) string {
	var b strings.Builder
	where := "in an emulated guest"
	if r.kernel == "host" {
		where = "this machine, without emulation"
	}
	fmt.Fprintf(&b, "### Linux %s, %s\n\n", r.release, where)
	fmt.Fprintf(&b, "Off-CPU stacks are taken %s.\n\n", orDash(r.place))
	b.WriteString("| Tests of | CPUs | Passed | Failed | Skipped |\n|---|---|---|---|---|\n")
	for _, other := range all {
		if other.kernel == r.kernel {
			for _, t := range other.tests {
				b.WriteString(row(packageOf(t.name), other.cpus, t))
			}
		}
	}
	if r.engine != nil {
		b.WriteString(row("captures made there, by SQL in Perfetto's engine", r.cpus, *r.engine))
	}
	b.WriteString("\n")
	b.WriteString(failuresOf(r.kernel, all))
	b.WriteString(skipsOf(r.kernel, all))
	b.WriteString(refusals(r.refused))
	return b.String()
}

func row(name, cpus string, t tested) string {
	failed := fmt.Sprint(t.failed)
	if !t.ended {
		failed += ", cut short"
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %d |\n", name, cpus, t.passed, failed, len(t.skips))
}

// packageOf is the package of a file that scripts/test-kernels named.
func packageOf(name string) string { return "`" + strings.ReplaceAll(name, "_", "/") + "`" }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func failuresOf(kernel string, all []result) string {
	var names []string
	for _, r := range all {
		for _, t := range r.everything() {
			if r.kernel == kernel {
				names = append(names, t.failures...)
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return ""
	}
	return "Failed: " + strings.Join(names, ", ") + ".\n\n"
}

func (r result) everything() []tested {
	if r.engine == nil {
		return r.tests
	}
	return append(slices.Clone(r.tests), *r.engine)
}

func skipsOf(kernel string, all []result) string {
	byReason := map[string][]string{}
	for _, r := range all {
		if r.kernel != kernel {
			continue
		}
		for _, t := range r.everything() {
			for _, s := range t.skips {
				byReason[s.reason] = append(byReason[s.reason], s.test)
			}
		}
	}
	if len(byReason) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| Skipped | Why |\n|---|---|\n")
	for _, reason := range sortedKeys(byReason) {
		tests := byReason[reason]
		fmt.Fprintf(&b, "| %s | %s |\n", briefly(tests), cell(reason))
	}
	return b.String() + "\n"
}

// briefly names whole tests where there are many subtests.
func briefly(tests []string) string {
	names := slices.Clone(tests)
	if len(names) > 4 {
		for i, name := range names {
			names[i], _, _ = strings.Cut(name, "/")
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func refusals(all []refusal) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| Where | wprof-record says |\n|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(r.condition), cell(r.sentence))
	}
	return b.String() + "\n"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func leftOutSection(packages []pkg) string {
	var b strings.Builder
	b.WriteString("### Left out\n\n| Tests of | Those | Why |\n|---|---|---|\n")
	for _, p := range packages {
		for _, s := range p.skips {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.TrimPrefix(p.path, "./"), cell(s.tests), s.why)
		}
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// listedSkips are the reasons for which a test may skip: the first column of the table under that heading, in which …
// stands for anything.
func listedSkips(page string) (all []*regexp.Regexp) {
	_, section, _ := strings.Cut(page, "## What a test may skip for\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if m := regexp.MustCompile("^\\| `([^`]*)` \\|").FindStringSubmatch(line); m != nil {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(m[1]), "…", ".*")
			all = append(all, regexp.MustCompile("^"+pattern+"$"))
		}
	}
	return all
}

func isListed(reason string, listed []*regexp.Regexp) bool {
	return slices.ContainsFunc(listed, func(r *regexp.Regexp) bool { return r.MatchString(reason) })
}

// check fails if a test has failed, or has skipped for a reason that is not listed.
func check(results []result, listed []*regexp.Regexp) error {
	var errs []error
	for _, r := range results {
		for _, t := range r.everything() {
			if t.failed > 0 || !t.ended {
				errs = append(errs, fmt.Errorf("on Linux %s (%s), %s: %d tests failed: %s", r.release, r.boot, t.name, t.failed, strings.Join(t.failures, ", ")))
			}
			for _, s := range t.skips {
				if !isListed(s.reason, listed) {
					errs = append(errs, fmt.Errorf("on Linux %s (%s), %s: %s skips for a reason that %s does not list: %q", r.release, r.boot, t.name, s.test, pageFile, s.reason))
				}
			}
		}
	}
	return errors.Join(errs...)
}
