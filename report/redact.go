package report

import (
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// Redactor replaces what tells whose cluster a text is about: names of hosts and switches, DNS names, addresses, GIDs,
// GUIDs, hardware addresses, serial numbers, paths and the names of users in them. The same thing becomes the same
// placeholder wherever it stands, so that what belongs together can still be seen to; the numbers are given in the
// order of appearance and mean nothing in another report.
//
// Placeholders are what the RFCs set aside: 192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24 (RFC 5737), then
// 198.18.0.0/15 (RFC 2544), 2001:db8::/32 (RFC 3849), 00-00-5E-00-53-xx (RFC 7042), .example (RFC 2606). That an
// address is link-local, loopback or unspecified is part of findings and stays.
type Redactor struct {
	pattern, short *regexp.Regexp
	kinds          map[string]string // lower-case name -> "host", "switch" or "user"
	paths          map[string]bool   // of inputs
	given          map[string]string // kind and original -> placeholder
	count          map[string]int    // by kind
}

// NewRedactor knows the names that an inventory and a window hold, and the paths of the inputs. inv and win may be nil.
func NewRedactor(inv *evidence.Inventory, win *telemetry.Window, paths ...string) *Redactor {
	x := &Redactor{kinds: map[string]string{}, paths: map[string]bool{}, given: map[string]string{}, count: map[string]int{}}
	for _, p := range paths {
		x.path(p)
	}
	x.Know(inv, win)
	return x
}

// Know adds the names of another inventory and window. What was replaced before keeps its placeholders.
func (x *Redactor) Know(inv *evidence.Inventory, win *telemetry.Window) {
	if win != nil {
		for id := range telemetry.SeriesCount {
			for _, k := range win.Keys(id) {
				name, _, _ := strings.Cut(k.Object, "/")
				x.name("host", name)
			}
		}
	}
	if inv != nil {
		hosts, switches := inv.Names()
		for _, n := range hosts {
			x.name("host", n)
		}
		for _, n := range switches {
			x.name("switch", n)
		}
		for _, f := range inv.Files {
			x.path(f.Path)
		}
		for _, u := range inv.Unreadable {
			x.path(u.From.File)
		}
	}
	x.compile()
}

// path notes the path of an input, and the user in it.
func (x *Redactor) path(p string) {
	if p != "" && p != "-" && p != standardInput {
		x.paths[p] = true
	}
	if m := userPath.FindStringSubmatch(p); m != nil {
		x.name("user", m[1])
	}
}

// userPath is a path with the name of a user in it.
var userPath = regexp.MustCompile(`^(?:/[^/]+)*?/(?:home|Users|users)/([^/]+)`)

func (x *Redactor) name(kind, name string) {
	if len(name) > 0 && name != "localhost" && strings.Trim(name, "0123456789.") != "" {
		x.kinds[strings.ToLower(name)] = kind
	}
}

// The parts of the pattern, in the order in which they are tried at a place. RE2 has no look-around: what may stand
// before and after a match is checked by hand.
const (
	groupPath = iota + 1 // of an input
	groupUUID
	groupAbsolute // any other absolute path
	groupMAC
	groupIPv6
	groupGUID
	groupIPv4
	groupSerial
	groupDNS
	groupName
	groups
)

const patterns = `|([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})` +
	`|((?:/[A-Za-z0-9._+@~=,-]+){2,}/?)` +
	`|([0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5,19}|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5,7})` +
	`|([0-9A-Fa-f]*(?::[0-9A-Fa-f]*){2,}(?:\.[0-9]+){0,3})` +
	`|(0x[0-9A-Fa-f]{16})` +
	`|([0-9]{1,3}(?:\.[0-9]{1,3}){3})` +
	`|((?i:serial(?: number)?|\[?S/?N\]?)[ :=]+[A-Za-z0-9-]{6,})` +
	`|((?:[A-Za-z0-9-]+\.)+(?i:com|net|org|io|ai|cloud|local|lan|internal|corp|intra|edu|gov|mil|cn|de|uk|fr|jp|kr|in|us|eu|ch|nl|se|au|ca|tw|sg))`

var guid = regexp.MustCompile(`^[0-9A-Fa-f]{4}(:[0-9A-Fa-f]{4}){3}$`)

func (x *Redactor) compile() {
	list := func(words []string) string {
		slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest first: node10 before node1
		for i, w := range words {
			words[i] = regexp.QuoteMeta(w)
		}
		if len(words) == 0 {
			return `[^\s\S]` // matches nothing
		}
		return strings.Join(words, "|")
	}
	var names, paths []string
	for n := range x.kinds {
		names = append(names, n)
	}
	for p := range x.paths {
		paths = append(paths, p)
	}
	slices.Sort(names)
	slices.Sort(paths)
	// A name may go on with its domain.
	name := `((?i:` + list(names) + `))((?:\.[A-Za-z][A-Za-z0-9-]*)*)`
	x.pattern = regexp.MustCompile(`(` + list(paths) + `)` + patterns + `|` + name)
	x.short = regexp.MustCompile(name)
}

// Text replaces what a text tells.
func (x *Redactor) Text(s string) string { return x.replace(s, 0, len(s), x.pattern) }

// replace replaces in s[from:to]; what stands around it decides with.
func (x *Redactor) replace(s string, from, to int, p *regexp.Regexp) string {
	var b strings.Builder
	for at := from; at < to; {
		m := p.FindStringSubmatchIndex(s[at:to])
		if m == nil {
			b.WriteString(s[at:to])
			break
		}
		start, end := at+m[0], at+m[1]
		group := groupName
		if p == x.pattern {
			for group = 1; m[2*group] < 0; group++ {
			}
		}
		text, ok := x.placeholder(group, s, start, end)
		switch {
		case ok:
		case group == groupName:
			end = start + 1
			text = s[start:end]
		default: // not what it looked like; a name may still stand in it
			text = x.replace(s, start, end, x.short)
		}
		b.WriteString(s[at:start])
		b.WriteString(text)
		at = end
	}
	return b.String()
}

// placeholder is what stands for s[start:end]; ok is false where that is not what its pattern is for.
func (x *Redactor) placeholder(group int, s string, start, end int) (text string, ok bool) {
	match := s[start:end]
	before, after := byte(' '), byte(' ')
	if start > 0 {
		before = s[start-1]
	}
	if end < len(s) {
		after = s[end]
	}
	switch group {
	case groupPath:
		if alnum(before) || alnum(after) || !strings.ContainsAny(match, "/.") && !standsAsPath(s, start, end) {
			return "", false
		}
		if x.kinds[strings.ToLower(match)] != "" { // a folder named after its host
			return x.called(match)
		}
		return x.give("input", match, func(n int) string { return fmt.Sprintf("input-%d%s", n, extension(match)) }), true
	case groupUUID:
		return x.give("uuid", strings.ToLower(match), func(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012x", n) }), !alnum(before) && !alnum(after)
	case groupAbsolute:
		if alnum(before) || before == '_' || systemPath(match) {
			return "", false
		}
		return x.give("path", strings.TrimSuffix(match, "/"), func(n int) string { return fmt.Sprintf("/path-%d", n) }), true
	case groupMAC:
		return x.give("mac", strings.ToLower(match), func(n int) string { return fmt.Sprintf("00:00:5e:00:53:%02x", n) }), !alnum(before) && !alnum(after)
	case groupIPv6:
		if text, ok := x.address(match, after); ok {
			return text, true
		}
		if guid.MatchString(match) {
			return x.placeholder(groupGUID, s, start, end)
		}
		// Libraries print words and addresses without a blank between them: "localGidfe80::1".
		for i := start + 1; i < end && alnum(s[i-1]) && s[i] != ':'; i++ {
			if text, ok := x.address(s[i:end], after); ok {
				return s[start:i] + text, true
			}
		}
		return "", false
	case groupGUID:
		return x.give("guid", strings.ToLower(match), func(n int) string { return fmt.Sprintf("0x%016x", n) }), !alnum(before) && !alnum(after)
	case groupIPv4:
		if before >= '0' && before <= '9' || before == '.' || after >= '0' && after <= '9' || after == '.' && end+1 < len(s) && s[end+1] >= '0' && s[end+1] <= '9' {
			return "", false
		}
		return x.address(match, ' ')
	case groupSerial:
		i := strings.LastIndexAny(match, " :=") + 1
		if alnum(before) || !strings.ContainsAny(match[i:], "0123456789") {
			return "", false
		}
		return match[:i] + x.give("serial", match[i:], func(n int) string { return fmt.Sprintf("serial-%d", n) }), true
	case groupDNS:
		if alnum(before) || before == '-' || alnum(after) || after == '-' {
			return "", false
		}
		return x.called(match)
	}
	if alnum(before) || alnum(after) {
		return "", false
	}
	return x.called(match)
}

// standsAsPath tells whether a file whose name is a plain word ("log") is meant, and not the word.
func standsAsPath(s string, start, end int) bool {
	return start == 0 && (end == len(s) || s[end] == ':' || s[end] == '/')
}

// called is the placeholder of a name with or without its domain. What follows the first dot is kept where it is the
// ending of a file.
func (x *Redactor) called(match string) (string, bool) {
	lower, tail := strings.ToLower(match), ""
	for x.kinds[lower] == "" {
		i := strings.LastIndexByte(lower, '.')
		if i < 0 {
			n := x.give("name", strings.ToLower(match), func(n int) string { return fmt.Sprintf("name-%d.example", n) })
			return n, true
		}
		if extension(lower) != "" {
			tail = match[i:len(lower)] + tail
		}
		lower = lower[:i]
	}
	kind := x.kinds[lower]
	if kind == "host" { // with and without its domain it is one host
		lower, _, _ = strings.Cut(lower, ".")
	}
	return x.give(kind, lower, func(n int) string { return fmt.Sprintf("%s-%d", kind, n) }) + tail, true
}

// address is the placeholder of an address as it is printed, whatever form it has.
func (x *Redactor) address(match string, after byte) (string, bool) {
	text := strings.TrimRight(match, ":")
	tail := match[len(text):]
	if strings.HasSuffix(match, "::") { // "fe80::" is one
		text, tail = match, ""
	}
	a, err := netip.ParseAddr(text)
	if err != nil || alnum(after) {
		return "", false
	}
	bare := a.Unmap()
	if bare.IsUnspecified() || bare.IsLoopback() || bare.Is4() && bare.As4()[0] == 255 { // a netmask
		return match, true
	}
	out := x.give("address", bare.String(), func(n int) string {
		if bare.Is4() {
			return documentation(n)
		}
		if bare.IsLinkLocalUnicast() {
			return fmt.Sprintf("fe80::%x", n)
		}
		return fmt.Sprintf("2001:db8::%x", n)
	})
	if a.Is4In6() {
		out = "::ffff:" + out
	}
	return out + tail, true
}

// documentation is the n-th address that stands for none, n from 1.
func documentation(n int) string {
	const size = 254 // of a /24, without its first and last address
	for _, net := range []string{"192.0.2.", "198.51.100.", "203.0.113."} {
		if n <= size {
			return fmt.Sprintf("%s%d", net, n)
		}
		n -= size
	}
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&255, n&255)
}

// give is the placeholder of an original, made where it is the first of its kind.
func (x *Redactor) give(kind, original string, form func(n int) string) string {
	key := kind + "\x00" + original
	text, ok := x.given[key]
	if !ok {
		x.count[kind]++
		text = form(x.count[kind])
		x.given[key] = text
	}
	return text
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// extensions are the endings that tell what an input is and nothing else.
var extensions = []string{".log", ".txt", ".out", ".err", ".xml", ".json", ".yaml", ".yml", ".csv", ".conf", ".md", ".gz", ".tgz", ".tar", ".zip"}

func extension(name string) string {
	if e := strings.ToLower(path.Ext(name)); slices.Contains(extensions, e) {
		return e
	}
	return ""
}

// systemPath tells whether a path is the same on every Linux host, and so tells nothing.
func systemPath(p string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return slices.Contains([]string{"sys", "proc", "dev", "etc", "usr", "lib", "lib64", "bin", "sbin"}, first)
}

// Redact is the report with every text in it replaced. The report itself stays as it is.
func (x *Redactor) Redact(r *Report) *Report {
	out := reflect.New(reflect.TypeOf(*r))
	out.Elem().Set(x.copied(reflect.ValueOf(*r)))
	return out.Interface().(*Report)
}

// ownWords are the fields whose texts are the program's own, where a host of that name must not change them.
var ownWords = []string{"Schema", "Code", "Layer", "Role", "Setting", "Metric", "Kind", "Reason", "Fingerprint", "Format"}

// copied is a deep copy of v with its texts replaced, whatever fields a report will have.
func (x *Redactor) copied(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		out := reflect.New(v.Type()).Elem()
		out.SetString(x.Text(v.String()))
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(x.copied(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(x.copied(v.Index(i)))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(ownWords, f.Name) {
				out.Field(i).Set(x.copied(v.Field(i)))
			}
		}
		return out
	}
	return v
}
