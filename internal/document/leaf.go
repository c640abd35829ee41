package document

import "iter"

// Leaf is a value that contains no list or mapping with values of its own: a scalar, a list of
// scalars, or an empty mapping.
type Leaf struct {
	Path string   // rules[2].value
	Keys []string // the keys in Path
	Node Node
}

// Leaves goes through the leaves of n, in file order.
func (n Node) Leaves() iter.Seq[Leaf] {
	return func(yield func(Leaf) bool) { n.node().leaves(nil, nil, yield) }
}

func (n *node) leaves(at *frame, keys []string, yield func(Leaf) bool) bool {
	for i, item := range n.items {
		if n.flat() {
			break
		}
		if !item.leaves(at.item(i), keys, yield) {
			return false
		}
	}
	for _, f := range n.fields {
		if !f.value.leaves(at.child(f.name), append(keys[:len(keys):len(keys)], f.name), yield) {
			return false
		}
	}
	return !n.flat() || yield(Leaf{at.String(), keys, Node{n}})
}

// flat reports whether n is a leaf.
func (n *node) flat() bool {
	for _, item := range n.items {
		if item.kind == List || item.kind == Map {
			return false
		}
	}
	return len(n.fields) == 0
}
