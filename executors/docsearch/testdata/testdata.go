// Package testdata is the collection that the tests of package docsearch search,
// for programs that search it too: one copy of the articles serves both.
//
//	rho-bank-kb/   698 articles of an invented bank   MIT
//
// Licence, source and what was changed stand beside the file. A program that
// imports this package carries the articles, 923 KB, and needs no path.
package testdata

import _ "embed"

var (
	//go:embed rho-bank-kb/documents.jsonl
	bankArticles string
	//go:embed rho-bank-kb/expected.json
	bankExpected string
)

// BankArticles has one JSON object a line: id, title, content.
func BankArticles() string { return bankArticles }

// BankExpected is the JSON object with what was counted in the articles without
// this project's code, as in how many of them a text occurs.
func BankExpected() string { return bankExpected }
