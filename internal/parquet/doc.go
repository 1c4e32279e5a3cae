// Package parquet owns writing tables as Apache Parquet files: flat columns of integers, numbers, truth values and text, any of them with
// nulls. It does not read, nest, or keep statistics; a library that does all that is ten times the rest of the program
// (docs/decisions/0007-parquet.md).
//
// The format is that of apache/parquet-format 2.10: a file is row groups of column chunks, each a dictionary page where that pays and
// a data page (version 1), compressed with gzip, which every reader knows; the footer and the page headers are Thrift structs
// in the compact protocol.
//
//	PAR1 | dictionary page, data page | ... of every column, of every row group | footer | length of the footer | PAR1
//
// Read writer.go (rows in), chunk.go (a column's pages), hybrid.go (runs and packed bits), thrift.go (headers).
package parquet
