package table

// Ahead is Find for many hashes, as far as it goes without looking at keys: rows gets for each hash the row that is probably meant, or 0, and there are as
// many of both. No read depends on the one before, so the processor waits for the memory once for many of them. seen is worth nothing: it keeps the reads.
func (x *Index) Ahead(hashes []uint64, rows []Handle) (seen uint32) {
	for _, hash := range hashes {
		if s := x.shard(hash); s.n > 0 {
			i := s.home(tagOf(hash))
			seen += s.tags[i] + uint32(s.rows[i])
		}
	}
	for k, hash := range hashes {
		rows[k] = x.Find(hash, func(Handle) bool { return true })
	}
	return seen
}
