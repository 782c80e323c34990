package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"

	"github.com/toolharness/harness/boundary"
	"github.com/toolharness/harness/cmd/harness/internal/demo/data"
	"github.com/toolharness/harness/cmd/harness/internal/sqlagent"
	"github.com/toolharness/harness/cmd/harness/internal/sqlread"
	"github.com/toolharness/harness/executors/docsearch"
	"github.com/toolharness/harness/executors/logsearch"
	"github.com/toolharness/harness/lifecycle"
)

// The tools that search, beside those of the SQL agent.
const (
	nameSearchLogs     = "search_logs"
	nameSearchPart     = "search_logs_part"
	nameSearchArticles = "search_articles"
)

// partBytes is how much the tool of that name may read in one search: a third of the log.
const partBytes = 256 << 10

// What results and facts call the collection, and the field by which its two languages are told apart.
const (
	collectionName = "bank-kb"
	fieldLanguage  = "lang"
	langEnglish    = "en"
	langChinese    = "zh"
)

// sources are what the tools look into: the database, the log, and the articles.
type sources struct {
	database *sqlread.Database
	agent    *sqlagent.Tools
	logs     *logsearch.Search
	part     *logsearch.Search // of the same log
	articles *docsearch.Index
	own      bool // the index is ours to close
}

// openSources opens all three; an index that is given is used instead of a new one. What was opened before an error is
// closed by the caller.
func openSources(ctx context.Context, articles *docsearch.Index) (s sources, err error) {
	if s.database, err = sqlread.OpenImage(data.Chinook(), sqlread.Limits{}); err != nil {
		return s, err
	}
	s.agent = sqlagent.New(databaseName, s.database)
	files, err := logsearch.Files(data.KafkaLogs(), logsearch.Log4j{}, "*.log")
	if err != nil {
		return s, err
	}
	if s.logs, err = logsearch.New(logsearch.Config{Sources: files}); err != nil {
		return s, err
	}
	few := logsearch.Limits{MaxRecordBytes: partBytes / 4, MaxScanBytes: partBytes}
	if s.part, err = logsearch.New(logsearch.Config{Sources: files, Limits: few}); err != nil {
		return s, err
	}
	if s.articles = articles; articles == nil {
		s.articles, err = buildArticles(ctx)
		s.own = true
	}
	return s, err
}

// buildArticles makes the index of all articles, in memory.
func buildArticles(ctx context.Context) (*docsearch.Index, error) {
	return docsearch.Build(ctx, docsearch.Config{Name: collectionName, Fields: []string{fieldLanguage}}, allArticles())
}

// article is one line of a file of articles.
type article struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Content string `json:"content"`
}

// articlesOf reads a file of articles.
func articlesOf(text string) iter.Seq2[article, error] {
	return func(yield func(article, error) bool) {
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, docsearch.MaxTextBytes)
		for lines.Scan() {
			var a article
			if err := json.Unmarshal(lines.Bytes(), &a); !yield(a, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(article{}, err)
		}
	}
}

// allArticles are the articles of both languages for one index.
func allArticles() iter.Seq2[docsearch.Document, error] {
	return func(yield func(docsearch.Document, error) bool) {
		for _, file := range []struct{ language, text string }{{langEnglish, data.BankArticles()}, {langChinese, data.ChineseArticles()}} {
			for a, err := range articlesOf(file.text) {
				if err != nil {
					err = fmt.Errorf("demo: articles: %w", err)
				}
				if !yield(docsearch.Document{ID: a.ID, Title: a.Title, Text: a.Content, Fields: map[string]string{fieldLanguage: file.language}}, err) {
					return
				}
			}
		}
	}
}

// tools are all that only read.
func (s sources) tools() []boundary.Tool {
	return append(s.agent.ForBoundary(), s.logs.Tool(nameSearchLogs), s.part.Tool(nameSearchPart), s.articles.Tool(nameSearchArticles))
}

// codes are those that the tools report, each with its text for the model.
func codes() map[lifecycle.Code]string {
	all := map[lifecycle.Code]string{}
	for _, of := range []map[lifecycle.Code]string{sqlagent.Codes(), logsearch.Codes(), docsearch.Codes()} {
		maps.Copy(all, of)
	}
	return all
}

// close closes what was opened; the log needs none.
func (s sources) close() error {
	var problems []error
	if s.database != nil {
		problems = append(problems, s.database.Close())
	}
	if s.articles != nil && s.own {
		problems = append(problems, s.articles.Close())
	}
	return errors.Join(problems...)
}
