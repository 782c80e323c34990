package canonical

// RawPart is some bytes of a stored raw result, verified. Raw describes the whole
// one: whoever holds a reference to it compares digest and Pieces with those of
// the reference, since the bytes alone are checked against what the record says.
type RawPart struct {
	Raw    RawInfo
	Bytes  Body
	Offset int64 // of the first of Bytes
}

// CheckPart checks what was asked of a RawPart before anything is sent.
func CheckPart(offset int64, max int) error {
	if offset < 0 {
		return &ArgumentError{Op: "raw part", Field: "offset", Reason: "negative"}
	}
	if max < 1 {
		return &ArgumentError{Op: "raw part", Field: "max", Reason: "below one"}
	}
	return nil
}

// Part is where the part that begins at offset ends: after max bytes, or at the
// end of the raw result. An offset beyond that end is an [*ArgumentError] with
// both numbers.
func (r RawInfo) Part(offset int64, max int) (end int64, err error) {
	if err := CheckPart(offset, max); err != nil {
		return 0, err
	}
	if offset > r.Size {
		return 0, &ArgumentError{Op: "raw part", Field: "offset", Reason: "beyond the end", Size: offset, Limit: r.Size}
	}
	return offset + min(int64(max), r.Size-offset), nil
}

// CheckEvidenceID checks that id could have been given to a call: 1 to 128 bytes
// of letters, digits and hyphens. The error never repeats it.
func CheckEvidenceID(op string, id EvidenceID) error {
	return checkSecret(op, "evidence_id", string(id))
}
