package record

// payloads writes those of the open ticks, and the digests of the keys, at the end of a value:
// nothing when there are none. So a summary need not read them.
func (w *writer) payloads(r *Record) {
	var open, keys []int
	for i, e := range r.Open {
		if e.Payload != "" {
			open = append(open, i)
		}
	}
	for i, k := range r.Keys {
		if k.Digest != "" {
			keys = append(keys, i)
		}
	}
	if len(open)+len(keys) == 0 {
		return
	}
	w.count(len(open))
	for _, i := range open {
		w.count(i)
		w.text(r.Open[i].Payload)
	}
	w.count(len(keys))
	for _, i := range keys {
		w.count(i)
		w.text(r.Keys[i].Digest)
	}
}

func (r *reader) payloads(of *Record) {
	if len(r.b) == 0 {
		return
	}
	for range r.count() {
		if i, text := r.plain(), r.text(); i < len(of.Open) {
			of.Open[i].Payload = text
		} else {
			r.fail()
		}
	}
	for range r.count() {
		if i, text := r.plain(), r.text(); i < len(of.Keys) {
			of.Keys[i].Digest = text
		} else {
			r.fail()
		}
	}
}
