package sqlread

import (
	"io"
	"strings"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// imageName is the only file name that the file system of a database knows.
const imageName = "image"

// imageFS is the file system of one database: a string that cannot change, and bounded memory for temporary files.
// With it the engine has no way to a disk.
type imageFS struct {
	image string
	temp  *tempBudget
}

// tempBudget counts the bytes of all temporary files of one database, so that many small ones are bounded too.
type tempBudget struct {
	max  int64
	used atomic.Int64
}

func (b *tempBudget) take(n int64) bool {
	if b.used.Add(n) <= b.max {
		return true
	}
	b.used.Add(-n)
	return false
}

// Open serves the image and temporary files; journals, other databases and everything else do not exist.
func (fs imageFS) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	switch {
	case flags&vfs.OPEN_MAIN_DB != 0 && name == imageName:
		return imageFile{reader: strings.NewReader(fs.image)}, vfs.OPEN_MAIN_DB | vfs.OPEN_READONLY, nil
	case flags&(vfs.OPEN_TEMP_DB|vfs.OPEN_TEMP_JOURNAL|vfs.OPEN_TRANSIENT_DB|vfs.OPEN_SUBJOURNAL) != 0:
		return &tempFile{budget: fs.temp}, flags, nil
	}
	return nil, flags, sqlite3.CANTOPEN
}

// Delete refuses: there is nothing that could be deleted.
func (imageFS) Delete(string, bool) error { return sqlite3.IOERR_DELETE }

// Access says of every name that it does not exist, so that no journal is ever rolled into the image.
func (imageFS) Access(string, vfs.AccessFlag) (bool, error) { return false, nil }

// FullPathname leaves a name as it is; there are no folders.
func (imageFS) FullPathname(name string) (string, error) { return name, nil }

// imageFile reads the image. Its writing methods fail, which the engine would only reach past every other layer.
type imageFile struct{ reader *strings.Reader }

func (f imageFile) ReadAt(p []byte, off int64) (int, error)       { return f.reader.ReadAt(p, off) }
func (f imageFile) Size() (int64, error)                          { return f.reader.Size(), nil }
func (imageFile) Close() error                                    { return nil }
func (imageFile) WriteAt([]byte, int64) (int, error)              { return 0, sqlite3.IOERR_WRITE }
func (imageFile) Truncate(int64) error                            { return sqlite3.IOERR_TRUNCATE }
func (imageFile) Sync(vfs.SyncFlag) error                         { return sqlite3.IOERR_FSYNC }
func (imageFile) Lock(vfs.LockLevel) error                        { return nil }
func (imageFile) Unlock(vfs.LockLevel) error                      { return nil }
func (imageFile) CheckReservedLock() (bool, error)                { return false, nil }
func (imageFile) SectorSize() int                                 { return 0 }
func (imageFile) DeviceCharacteristics() vfs.DeviceCharacteristic { return vfs.IOCAP_IMMUTABLE }

// tempFile is one temporary file in memory. Its owner is one connection, so it needs no lock.
type tempFile struct {
	data   []byte
	budget *tempBudget
}

func (f *tempFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt answers "full" at the limit, which ends the statement in good order and keeps the connection usable.
func (f *tempFile) WriteAt(p []byte, off int64) (int, error) {
	if grow := off + int64(len(p)) - int64(len(f.data)); grow > 0 {
		if !f.budget.take(grow) {
			return 0, sqlite3.FULL
		}
		f.data = append(f.data, make([]byte, grow)...)
	}
	return copy(f.data[off:], p), nil
}

func (f *tempFile) Truncate(size int64) error {
	if cut := int64(len(f.data)) - size; cut > 0 {
		f.data = f.data[:size]
		f.budget.used.Add(-cut)
	}
	return nil
}

func (f *tempFile) Close() error {
	f.budget.used.Add(-int64(len(f.data)))
	f.data = nil
	return nil
}

func (f *tempFile) Size() (int64, error)                          { return int64(len(f.data)), nil }
func (*tempFile) Sync(vfs.SyncFlag) error                         { return nil }
func (*tempFile) Lock(vfs.LockLevel) error                        { return nil }
func (*tempFile) Unlock(vfs.LockLevel) error                      { return nil }
func (*tempFile) CheckReservedLock() (bool, error)                { return false, nil }
func (*tempFile) SectorSize() int                                 { return 0 }
func (*tempFile) DeviceCharacteristics() vfs.DeviceCharacteristic { return 0 }
