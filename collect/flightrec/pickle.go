package flightrec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// A pickle is a program for a machine with a stack (Lib/pickletools.py of Python has its opcodes). Python lets it call
// whatever it names, which makes a foreign pickle as dangerous as a foreign program. This machine knows data alone:
// numbers, texts, lists, tuples and dictionaries; of the functions it may name only those of torch.jit._pickle, which
// return what they are given (torch/csrc/jit/serialization/pickler.cpp).

// Limits on one pickle. A dump of 20 000 entries with ten stack frames each has some three million values.
const (
	maxValues = 1 << 22
	maxMemo   = 1 << 22
)

type kind uint8

const (
	none kind = iota
	boolean
	integer
	float
	text
	list // tuples too
	dict
	global
)

// value is one value of a pickle.
type value struct {
	kind kind
	n    int64 // integer and boolean
	f    float64
	s    string
	list []*value // of a dict: keys and values in turn
}

// machine runs one pickle.
type machine struct {
	in     []byte
	at     int
	stack  []*value
	marks  []int
	memo   map[int]*value
	values int
}

var errCut = errors.New("pickle that lost its end")

// unpickle returns the value a pickle leaves.
func unpickle(in []byte) (*value, error) {
	m := &machine{in: in, memo: map[int]*value{}}
	for {
		op, err := m.byte()
		if err != nil {
			return nil, err
		}
		if op == '.' {
			return m.pop()
		}
		if err := m.step(op); err != nil {
			return nil, err
		}
	}
}

func (m *machine) byte() (byte, error) {
	b, err := m.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (m *machine) take(n int) ([]byte, error) {
	if n < 0 || n > len(m.in)-m.at {
		return nil, errCut
	}
	b := m.in[m.at : m.at+n]
	m.at += n
	return b, nil
}

// number reads an unsigned number of n bytes, the lowest first.
func (m *machine) number(n int) (int, error) {
	b, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	v := binary.LittleEndian.Uint64(wide[:])
	if v > math.MaxInt32 {
		return 0, errCut // no length of anything that fits
	}
	return int(v), nil
}

func (m *machine) line() (string, error) {
	i := bytes.IndexByte(m.in[m.at:], '\n')
	if i < 0 {
		return "", errCut
	}
	b, err := m.take(i + 1)
	if err != nil {
		return "", err
	}
	return string(b[:i]), nil
}

func (m *machine) push(v *value) error {
	if m.values++; m.values > maxValues {
		return errors.New("pickle with too many values")
	}
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) pop() (*value, error) {
	if len(m.stack) == 0 || len(m.marks) > 0 && len(m.stack) <= m.marks[len(m.marks)-1] {
		return nil, errors.New("damaged pickle")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// sinceMark takes what was pushed since the last mark.
func (m *machine) sinceMark() ([]*value, error) {
	if len(m.marks) == 0 || m.marks[len(m.marks)-1] > len(m.stack) {
		return nil, errors.New("damaged pickle")
	}
	from := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	items := append([]*value{}, m.stack[from:]...)
	m.stack = m.stack[:from]
	return items, nil
}

// step does one operation.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := m.take(1)
		return err
	case 0x95: // FRAME
		_, err := m.take(8)
		return err
	case '(':
		m.marks = append(m.marks, len(m.stack))
		if len(m.marks) > maxMemo {
			return errors.New("damaged pickle")
		}
		return nil
	case '0': // POP
		_, err := m.pop()
		return err
	case 'N':
		return m.push(&value{})
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(&value{kind: boolean, n: int64(0x89 - op)})
	case 'J', 'K', 'M', 0x8a, 'I', 'L', 'G', 'F':
		return m.numeric(op)
	case 'X', 0x8c, 0x8d, 'U', 'T', 'C', 'B', 'V':
		return m.text(op)
	case ']', '}', ')', 't', 0x85, 0x86, 0x87, 'e', 'a', 'u', 's', 'l', 'd':
		return m.collection(op)
	case 'q', 'r', 'p', 0x94, 'h', 'j', 'g':
		return m.remember(op)
	case 'c', 0x93, 'R':
		return m.function(op)
	}
	return fmt.Errorf("pickle with opcode %#x, which is not read", op)
}

func (m *machine) numeric(op byte) error {
	switch op {
	case 'J': // BININT, signed
		b, err := m.take(4)
		if err != nil {
			return err
		}
		return m.push(&value{kind: integer, n: int64(int32(binary.LittleEndian.Uint32(b)))})
	case 'K', 'M':
		n, err := m.number(map[byte]int{'K': 1, 'M': 2}[op])
		if err != nil {
			return err
		}
		return m.push(&value{kind: integer, n: int64(n)})
	case 0x8a: // LONG1: two's complement, the lowest byte first
		n, err := m.number(1)
		if err != nil {
			return err
		}
		b, err := m.take(n)
		if err != nil {
			return err
		}
		return m.push(&value{kind: integer, n: signed(b)})
	case 'G': // BINFLOAT, the highest byte first
		b, err := m.take(8)
		if err != nil {
			return err
		}
		return m.push(&value{kind: float, f: math.Float64frombits(binary.BigEndian.Uint64(b))})
	}
	line, err := m.line()
	if err != nil {
		return err
	}
	if op == 'F' {
		f, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return errors.New("damaged pickle")
		}
		return m.push(&value{kind: float, f: f})
	}
	if op == 'I' && (line == "00" || line == "01") { // booleans of protocol 0
		return m.push(&value{kind: boolean, n: int64(line[1] - '0')})
	}
	n, err := strconv.ParseInt(string(bytes.TrimSuffix([]byte(line), []byte("L"))), 10, 64)
	if err != nil {
		return errors.New("damaged pickle")
	}
	return m.push(&value{kind: integer, n: n})
}

// signed reads a number of any length; what does not fit 64 bits is no count, size or time, and becomes 0.
func signed(b []byte) int64 {
	wide := new(big.Int)
	reversed := make([]byte, len(b))
	for i, c := range b {
		reversed[len(b)-1-i] = c
	}
	wide.SetBytes(reversed)
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		wide.Sub(wide, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if !wide.IsInt64() {
		return 0
	}
	return wide.Int64()
}

func (m *machine) text(op byte) error {
	if op == 'V' { // UNICODE of protocol 0
		line, err := m.line()
		if err != nil {
			return err
		}
		return m.push(&value{kind: text, s: line})
	}
	n, err := m.number(map[byte]int{'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4, 'C': 1, 'B': 4}[op])
	if err != nil {
		return err
	}
	b, err := m.take(n)
	if err != nil {
		return err
	}
	return m.push(&value{kind: text, s: string(b)})
}

func (m *machine) collection(op byte) error {
	switch op {
	case ']', ')':
		return m.push(&value{kind: list})
	case '}':
		return m.push(&value{kind: dict})
	case 't', 'l', 'd':
		items, err := m.sinceMark()
		if err != nil {
			return err
		}
		k := list
		if op == 'd' {
			k = dict
		}
		return m.push(&value{kind: k, list: items})
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		n := int(op - 0x84)
		items := make([]*value, n)
		for i := n - 1; i >= 0; i-- {
			v, err := m.pop()
			if err != nil {
				return err
			}
			items[i] = v
		}
		return m.push(&value{kind: list, list: items})
	case 'e', 'u':
		items, err := m.sinceMark()
		if err != nil {
			return err
		}
		return m.extend(items, op == 'u')
	}
	n := 1
	if op == 's' {
		n = 2
	}
	items := make([]*value, n)
	for i := n - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return err
		}
		items[i] = v
	}
	return m.extend(items, op == 's')
}

// extend adds to the list or dictionary on top of the stack.
func (m *machine) extend(items []*value, pairs bool) error {
	if len(m.stack) == 0 {
		return errors.New("damaged pickle")
	}
	to := m.stack[len(m.stack)-1]
	if pairs != (to.kind == dict) || !pairs && to.kind != list {
		return errors.New("damaged pickle")
	}
	if m.values += len(items); m.values > maxValues {
		return errors.New("pickle with too many values")
	}
	to.list = append(to.list, items...)
	return nil
}

func (m *machine) remember(op byte) error {
	var index int
	var err error
	switch op {
	case 'q', 'h':
		index, err = m.number(1)
	case 'r', 'j':
		index, err = m.number(4)
	case 0x94: // MEMOIZE
		index = len(m.memo)
	default:
		var line string
		if line, err = m.line(); err == nil {
			index, err = strconv.Atoi(line)
		}
	}
	if err != nil {
		return errCut
	}
	if op == 'h' || op == 'j' || op == 'g' {
		v, ok := m.memo[index]
		if !ok {
			return errors.New("damaged pickle")
		}
		return m.push(v)
	}
	if len(m.stack) == 0 || len(m.memo) >= maxMemo {
		return errors.New("damaged pickle")
	}
	m.memo[index] = m.stack[len(m.stack)-1]
	return nil
}

// harmless is the module whose functions return their first argument.
const harmless = "torch.jit._pickle"

// function names a function, or calls one.
func (m *machine) function(op byte) error {
	switch op {
	case 'c': // GLOBAL
		module, err := m.line()
		if err != nil {
			return err
		}
		name, err := m.line()
		if err != nil {
			return err
		}
		return m.name(module, name)
	case 0x93: // STACK_GLOBAL
		name, err1 := m.pop()
		module, err2 := m.pop()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return m.name(module.s, name.s)
	}
	arguments, err1 := m.pop()
	function, err2 := m.pop()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if function.kind != global || arguments.kind != list || len(arguments.list) == 0 {
		return errors.New("damaged pickle")
	}
	return m.push(arguments.list[0])
}

func (m *machine) name(module, name string) error {
	if module != harmless {
		return fmt.Errorf("pickle that names code to run (%.60q): not read", module+"."+name)
	}
	return m.push(&value{kind: global, s: name})
}

// member finds a member of a dictionary; nil where there is none.
func (v *value) member(name string) *value {
	if v == nil || v.kind != dict {
		return nil
	}
	for i := 0; i+1 < len(v.list); i += 2 {
		if v.list[i].kind == text && v.list[i].s == name {
			return v.list[i+1]
		}
	}
	return nil
}
