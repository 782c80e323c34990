// Package citations shows an agent loop whose model must name the results that it
// builds on. The conversation is a recorded one. In place of the model's second
// call stands one that cites a result which never was; it is refused before
// anything runs, the model reads why, and its corrected call runs.
package citations
