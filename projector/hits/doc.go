// Package hits carries the results of document searches, as RAG tools make them:
// [Encoder] writes what a search returned as one JSON document, and [New] is the
// projector that reads such a document.
//
//	hits, legs, threshold --Encoder.Encode--> raw document --New(…).Project--> agent result, facts, coverage
//
// # The document
//
//	{"format":"hits/1","status":"success",                  or no_results, or error
//	 "query":"annual fee","collections":["bank-kb"],"top_k":6,
//	 "legs":[{"name":"dense","hits":20},{"name":"bm25","failed":"timeout"}],
//	 "rewrites":["yearly fee"],"filters":["lang = en"],"index_version":"v7",         each optional
//	 "threshold":{"score":0.55,"score_kind":"similarity"},"below_threshold":3,       each optional
//	 "cannot_cover":[{"what":"…","reason":"…"}],                                     optional
//	 "hits":[{"id":"c7","document":"d1","title":"Fees","position":3,
//	          "score":0.83,"score_kind":"similarity","matched_by":["dense"],
//	          "snippet":"…","content":"…"}],
//	 "cut_by":"max_bytes",                                                           optional
//	 "returned":1}
//
// The end is written last: a document without returned was cut on its way and is
// refused. Of a hit only the document is required; id is its chunk, position the
// chunk's place in the document, from 1. Hits stay in the order of the tool. A
// score keeps its digits and comes with its kind, since the kinds are no common
// scale and a smaller distance is better:
//
//	similarity, bm25, rerank, fused     larger is better
//	distance                            smaller is better
//
// Other members are allowed and not looked at.
//
// # What counts as what
//
//	at least one hit of the search, not below the threshold     EVIDENCE_FOUND
//	none, every leg ran, nothing cut                            NO_EVIDENCE with collections, query, top_k
//	none, but a leg failed or the result was cut; "error";      error
//	status error; unreadable
//
// A hit counts when a leg that ran found it. Tools like to fill an empty result
// with, say, the latest document under an invented score: such a hit is marked
// "fallback", or names no leg at all. It is no hit of the search; it is not
// shown, and counted as not_retrieved. Hits below the threshold are not shown
// either and are counted in result and coverage, whether the tool left them out
// or not: "nothing good enough" is another absence than "nothing".
//
// The model sees the first hits with a clipped snippet, or the beginning of the
// content where there is none. Facts say "document D, chunk k was retrieved for
// query Q with score s", and nothing of what the document claims. Text from
// documents is quoted data everywhere.
//
// The number of hits is "exact" when fewer than top_k came back from a search
// that is whole; a full result may have more behind it.
//
// # Limits
//
// Shown are 6 hits with 300 bytes each unless set; less where the limits of the
// call ask for it, and then the result says what is missing.
//
// Not promised: that a hit answers the question, that the index is current, or
// that an approximate index found the nearest.
//
// Sources: T118, T119, T120, T121 of docs/scenarios.md.
package hits
