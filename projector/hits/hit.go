package hits

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ScoreKind says what a score measures. Scores of different kinds cannot be
// compared.
type ScoreKind string

// The kinds.
const (
	Similarity ScoreKind = "similarity" // of vectors; larger is nearer
	Distance   ScoreKind = "distance"   // of vectors; smaller is nearer
	BM25       ScoreKind = "bm25"       // lexical
	Rerank     ScoreKind = "rerank"     // of a reranking model
	Fused      ScoreKind = "fused"      // of several legs, for example by reciprocal rank
)

func (k ScoreKind) known() bool {
	switch k {
	case Similarity, Distance, BM25, Rerank, Fused:
		return true
	}
	return false
}

// below reports whether a score is worse than a threshold of the same kind. Both
// are compared as float64, rounded to the nearest; what cannot be told apart
// there is not below.
func (k ScoreKind) below(score, threshold jsontext.Value) bool {
	s, t := number(score), number(threshold)
	if k == Distance {
		return s > t
	}
	return s < t
}

// number reads a JSON number; one beyond float64 is an infinity.
func number(v jsontext.Value) float64 {
	f, _ := strconv.ParseFloat(string(v), 64)
	return f
}

// Hit is one chunk of a document, or a whole document, that a search returned.
type Hit struct {
	ID       string // of the chunk; empty: the document as a whole
	Document string // id of the document; required
	Title    string
	Position int // of the chunk in its document, from 1; zero: not known

	// Score is the number as the engine gave it, [Score] of a float64; empty:
	// none. With a score its kind is required.
	Score json.Number
	Kind  ScoreKind

	// MatchedBy names the legs that found the hit. Left empty, it is filled in
	// where a single leg ran; else the hit counts as not found by the search.
	MatchedBy []string
	// Fallback says why a hit is here that the search did not find ("latest
	// document"). Such a hit never counts.
	Fallback string

	Snippet string // the passage that matched; shown in place of the content
	Content string // the chunk
}

// Score is f as the shortest number that reads back. NaN and the infinities have
// no such number; they give the empty Score.
func Score(f float64) json.Number {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return ""
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// Threshold is the score that a hit must reach. The zero Threshold is none.
type Threshold struct {
	Score json.Number
	Kind  ScoreKind
}

// Leg is one way in which was searched: dense, bm25, a second index.
type Leg struct {
	Name   string
	Hits   int    // what it found, before fusion and cuts
	Failed string // why it gave nothing, for the model; empty: it ran
}

// wireHit is the form of a hit in a document.
type wireHit struct {
	ID        string         `json:"id,omitempty"`
	Document  string         `json:"document"`
	Title     string         `json:"title,omitempty"`
	Position  int64          `json:"position,omitzero"`
	Score     jsontext.Value `json:"score,omitzero"`
	Kind      ScoreKind      `json:"score_kind,omitempty"`
	MatchedBy []string       `json:"matched_by,omitempty"`
	Fallback  string         `json:"fallback,omitempty"`
	Snippet   string         `json:"snippet,omitempty"`
	Content   string         `json:"content,omitempty"`
}

type wireThreshold struct {
	Score jsontext.Value `json:"score"`
	Kind  ScoreKind      `json:"score_kind"`
}

type wireLeg struct {
	Name   string `json:"name"`
	Hits   int64  `json:"hits"`
	Failed string `json:"failed,omitempty"`
}

func (l wireLeg) ran() bool { return l.Failed == "" }

// isNumber reports whether v is one JSON number.
func isNumber(v jsontext.Value) bool { return v.Kind() == '0' && v.IsValid() }

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func validAll(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, valid(text))
	}
	return out
}
