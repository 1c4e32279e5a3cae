package parquet

import "encoding/binary"

// hybrid appends small numbers as runs and packed bits (Encodings.md, RLE/bit-packing hybrid): a run is its length twice and the value
// in whole bytes, packed values are groups of eight of width bits each, the lowest bit first.
func hybrid(b []byte, values []uint32, width int) []byte {
	const group = 8
	bytes := (width + 7) / 8
	for i := 0; i < len(values); {
		run := 1
		for i+run < len(values) && values[i+run] == values[i] {
			run++
		}
		if run >= group {
			b = binary.AppendUvarint(b, uint64(run)<<1)
			for k := range bytes {
				b = append(b, byte(values[i]>>(8*k)))
			}
			i += run
			continue
		}
		// Packed up to the next run that is worth one, in whole groups: the last is filled up with zeros at the end of the values alone.
		end := i
		for end < len(values) {
			run := 1
			for run < group && end+run < len(values) && values[end+run] == values[end] {
				run++
			}
			if run == group && (end-i)%group == 0 {
				break
			}
			if end++; run == group {
				for (end-i)%group != 0 && end < len(values) {
					end++
				}
			}
		}
		groups := (end - i + group - 1) / group
		b = binary.AppendUvarint(b, uint64(groups)<<1|1)
		b = pack(b, values[i:end], width, groups*group)
		i = end
	}
	return b
}

// pack appends n values of width bits each; those that are missing are 0.
func pack(b []byte, values []uint32, width, n int) []byte {
	var acc uint64
	bits := 0
	for i := range n {
		if i < len(values) {
			acc |= uint64(values[i]) << bits
		}
		for bits += width; bits >= 8; bits -= 8 {
			b = append(b, byte(acc))
			acc >>= 8
		}
	}
	if bits > 0 {
		b = append(b, byte(acc))
	}
	return b
}
