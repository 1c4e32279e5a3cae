// Package report owns the step from findings to what people and programs read: text for a terminal, JSON for
// scripts, SARIF and JUnit for CI, HTML and Markdown to pass on. All are made from one value, Report, so that none
// can say what another does not.
//
// The text is written for a narrow terminal and a pipe alike: severity is a word and only then a colour, a
// code, an object's name or a command is never broken, and bytes that came out of foreign files cannot steer
// the terminal. Nothing here decides anything; what is unknown arrives as unknown and is printed as unknown.
//
// Read report.go (the value and its JSON), run.go (what a simulated job felt), text.go (the page from top to
// bottom), finding.go (one finding), evidence.go (its table), job.go and checked.go (what follows), then
// lines.go and figures.go (wrapping, numbers) and page.go (the page of a code). format.go lists the forms; sarif.go
// and junit.go stand alone, html.go and markdown.go show the parts of document.go.
package report
