// Package docsearch searches documents for an agent: a full-text index of bleve,
// in memory or on disk, built once, that an agent asks with plain words in English,
// Chinese, Japanese or Korean.
//
//	documents ──Build──▶ index ──Query: words, top k, filters──▶ hits.Encoder ──▶ raw document
//	id, title, text,     two analyses of each text               score of BM25, snippet, content
//	fields               and one of each field
//
// # What is found
//
// Every text is analyzed twice, and a document is found when it shares at least
// one term with the query in either:
//
//	analysis   words of alphabets               Chinese, Japanese, Korean
//	stems      lower case, English stems,       single characters and pairs
//	           no English stop words
//	words      lower case, as they stand        pairs
//
// So "fees" finds "fee", a Chinese question of several words finds the passage,
// and one index holds documents of several languages. The order is that of the
// BM25 scores, summed over both analyses of title and text, the title counting
// double; equal scores in the order of ids, so that the same index gives the same
// answer every time.
//
// The query is words and nothing else. There is no operator, no wildcard and no
// name of a field in it: a model's "title:x AND y*" looks for title, x, and, y.
// A query without a single word to look for is refused; it would find nothing and
// prove nothing. Filters are pairs of a field and its exact value.
//
// # What a result says
//
// Hits up to top k with score and its kind, a snippet around the words that
// matched, cut between two runes with a mark, and the content up to a limit for
// the host. The leg "bm25" says how many documents matched in all. A search either
// goes through the whole index or fails, so a result without hits means that no
// document that the filters let through has any of the words.
//
// # An index is whole
//
// [Build] checks every document before it takes it: ids are unique, texts are
// UTF-8, fields are those of the configuration. An index on disk says what it
// holds in a mark that is written last. [Open] refuses a folder without it, of
// another form, with another number of documents, or with fields that the
// configuration does not name. An open index is never written to.
//
// # Not guaranteed
//
//   - That a hit answers the question; BM25 compares words, not meanings.
//   - Stems of other languages than English; words of scripts without spaces other
//     than Chinese, Japanese and Korean.
//   - That scores of two indexes compare: they depend on all documents in each.
//
// # Codes
//
// [Codes] are registered with the boundary. A query that cannot run is refused in
// preflight as INVALID_INPUT.
//
//	DOC_SEARCH_FAILED   the index could not be searched
//
// # Use
//
//	index, err := docsearch.Build(ctx, docsearch.Config{Name: "bank-kb", Fields: []string{"product"}}, docsearch.Of(documents...))
//	...
//	defer index.Close()
//	b, err := boundary.New(boundary.Config{Codes: docsearch.Codes(), ...})
//	tools, err := boundary.NewToolset(b, index.Tool("search_articles"))
//
// On disk: Config.Path names a folder for Build to make, and for Open later. An
// [Index] may be used by several goroutines. Errors hold no part of a query and
// no text of a document.
//
// Sources: T119 of docs/scenarios.md. Robertson and Zaragoza, The Probabilistic
// Relevance Framework: BM25 and Beyond, 2009 (k1 = 1.2, b = 0.75).
package docsearch
