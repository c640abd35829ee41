package rule

// operand is a scalar that a rule compares with, with everything precomputed that a comparison needs.
type operand struct {
	text    string // exact text; only if isText
	i       int64  // of the number, only if isNum; not stored as a number struct, to save space
	integer bool
	isText  bool
	isNum   bool // also for text that is a decimal number
	isBool  bool // also for the texts "true" and "false"
	boolean bool
}

// num returns the operand as a number.
func (o *operand) num() number { return number{o.i, o.integer} }

func (o *operand) setNum(n number, ok bool) { o.i, o.integer, o.isNum = n.i, n.integer, ok }

// operandOf prepares a scalar; ok is false for anything else.
func operandOf(v any) (o operand, ok bool) {
	switch v := v.(type) {
	case string:
		o = operand{text: v, isText: true, isBool: v == "true" || v == "false", boolean: v == "true"}
		o.setNum(parseDecimal(v))
		return o, true
	case bool:
		return operand{isBool: true, boolean: v}, true
	case int64, float64:
		o.setNum(numberOf(v))
		return o, o.isNum
	}
	return operand{}, false
}

// same reports whether a field's value equals the operand: text exactly, numbers by value. A number or bool written
// as text, on either side, counts as that number or bool.
func (o *operand) same(v any) bool {
	switch v := v.(type) {
	case string:
		if o.isText {
			return v == o.text
		}
		if o.isBool {
			return o.boolean && v == "true" || !o.boolean && v == "false"
		}
		n, ok := parseDecimal(v)
		return ok && n.compare(o.num()) == 0
	case int64:
		return o.isNum && o.num().compare(number{i: v, integer: true}) == 0
	case float64:
		n, ok := floatNumber(v)
		return ok && o.isNum && n.compare(o.num()) == 0
	case bool:
		return o.isBool && v == o.boolean
	}
	return false
}
