package source

// Paths is the path parser, for tests.
var Paths = paths
