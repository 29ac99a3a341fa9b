// Another implementation of transparency logs, for the tests: golang.org/x/mod/sumdb, which has the
// hashes, tiles, proofs and notes of Go's checksum database. Cosignatures it has none of; theirs
// are here as C2SP's text has them. It answers each line of JSON with one.
package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// cosigner is a note.Verifier and note.Signer of C2SP tlog-cosignature, Ed25519.
type cosigner struct {
	name    string
	public  ed25519.PublicKey
	private ed25519.PrivateKey
	time    uint64
}

func parseCosigner(vkey string) cosigner {
	parts := strings.SplitN(vkey, "+", 3)
	key, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	made := cosigner{name: parts[0], public: key[1:]}
	if key[0] != 4 || fmt.Sprintf("%08x", made.KeyHash()) != parts[1] {
		panic("not a cosigner's key")
	}
	return made
}

func (c cosigner) Name() string { return c.name }

func (c cosigner) KeyHash() uint32 {
	hash := sha256.Sum256(append([]byte(c.name+"\n\x04"), c.public...))
	return binary.BigEndian.Uint32(hash[:])
}

func message(time uint64, body []byte) []byte {
	return append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", time)), body...)
}

func (c cosigner) Verify(body, signature []byte) bool {
	return len(signature) == 72 &&
		ed25519.Verify(c.public, message(binary.BigEndian.Uint64(signature), body), signature[8:])
}

func (c cosigner) Sign(body []byte) ([]byte, error) {
	signed := binary.BigEndian.AppendUint64(nil, c.time)
	return append(signed, ed25519.Sign(c.private, message(c.time, body))...), nil
}

// open returns size and root of a checkpoint, and who signed it of those whose keys are given.
func open(text []byte, logKey string, witnesses []string) (tlog.Tree, []string) {
	log, err := note.NewVerifier(logKey)
	check(err)
	verifiers := []note.Verifier{log}
	for _, witness := range witnesses {
		verifiers = append(verifiers, parseCosigner(witness))
	}
	opened, err := note.Open(text, note.VerifierList(verifiers...))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	names := []string{}
	for _, signature := range opened.Sigs {
		names = append(names, signature.Name)
	}
	if lines[0] != log.Name() {
		panic("another log's checkpoint")
	}
	return tlog.Tree{N: size, Hash: root}, names
}

// path returns where C2SP tlog-tiles has a tile; Go's has the height behind "tile".
func path(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight), "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

type folder string

func (f folder) Height() int { return tileHeight }

func (f folder) ReadTiles(tiles []tlog.Tile) (contents [][]byte, err error) {
	for _, tile := range tiles {
		content, err := os.ReadFile(filepath.Join(string(f), path(tile)))
		if err != nil {
			return nil, err
		}
		contents = append(contents, content)
	}
	return contents, nil
}

func (f folder) SaveTiles([]tlog.Tile, [][]byte) {}

// entries returns all entries of a log, from its bundles.
func (f folder) entries(size int64) (entries [][]byte) {
	for start := int64(0); start < size; start += 1 << tileHeight {
		width := size - start
		if width > 1<<tileHeight {
			width = 1 << tileHeight
		}
		tile := tlog.Tile{H: tileHeight, L: -1, N: start >> tileHeight, W: int(width)}
		bundle, err := os.ReadFile(filepath.Join(string(f), path(tile)))
		check(err)
		for len(bundle) > 0 {
			length := int(binary.BigEndian.Uint16(bundle))
			entries = append(entries, bundle[2:2+length])
			bundle = bundle[2+length:]
		}
	}
	return entries
}

type request struct {
	Operation string   `json:"operation"`
	Folder    string   `json:"folder"`
	LogKey    string   `json:"log_key"`
	Witnesses []string `json:"witnesses"`
	Entries   []string `json:"entries"`
	Entry     string   `json:"entry"`
	Proof     string   `json:"proof"`
	Path      []string `json:"path"`
	Size      int64    `json:"size"`
	Root      string   `json:"root"`
	OldSize   int64    `json:"old_size"`
	OldRoot   string   `json:"old_root"`
}

func unhex(text string) []byte {
	decoded, err := hex.DecodeString(text)
	check(err)
	return decoded
}

func hash(text string) (made tlog.Hash) {
	copy(made[:], unhex(text))
	return made
}

// read checks each entry of a served log, by a proof made of its tiles, and every older tree.
func read(asked request) map[string]any {
	served := folder(asked.Folder)
	checkpoint, err := os.ReadFile(filepath.Join(asked.Folder, "checkpoint"))
	check(err)
	tree, signers := open(checkpoint, asked.LogKey, asked.Witnesses)
	reader := tlog.TileHashReader(tree, served)
	hashes := []string{}
	for index, entry := range served.entries(tree.N) {
		proof, err := tlog.ProveRecord(tree.N, int64(index), reader)
		check(err)
		leaf := tlog.RecordHash(entry)
		check(tlog.CheckRecord(proof, tree.N, tree.Hash, int64(index), leaf))
		hashes = append(hashes, hex.EncodeToString(leaf[:]))
	}
	roots := []string{}
	for size := int64(1); size <= tree.N; size++ {
		proof, err := tlog.ProveTree(tree.N, size, reader)
		check(err)
		root, err := tlog.TreeHash(size, reader)
		check(err)
		check(tlog.CheckTree(proof, tree.N, tree.Hash, size, root))
		roots = append(roots, hex.EncodeToString(root[:]))
	}
	return map[string]any{"leaves": hashes, "roots": roots, "signers": signers}
}

// prove checks an offline proof (C2SP tlog-proof) of an entry.
func prove(asked request) map[string]any {
	head, checkpoint, _ := strings.Cut(asked.Proof, "\n\n")
	lines := strings.Split(head, "\n")
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	check(err)
	proof := tlog.RecordProof{}
	for _, line := range lines[2:] {
		part, err := tlog.ParseHash(line)
		check(err)
		proof = append(proof, part)
	}
	tree, signers := open([]byte(checkpoint), asked.LogKey, asked.Witnesses)
	leaf := tlog.RecordHash(unhex(asked.Entry))
	check(tlog.CheckRecord(proof, tree.N, tree.Hash, index, leaf))
	return map[string]any{"index": index, "signers": signers}
}

// extend checks a consistency path, as a publisher gives it to a witness.
func extend(asked request) map[string]any {
	proof := tlog.TreeProof{}
	for _, part := range asked.Path {
		proof = append(proof, hash(part))
	}
	check(tlog.CheckTree(proof, asked.Size, hash(asked.Root), asked.OldSize, hash(asked.OldRoot)))
	return map[string]any{}
}

type stored []tlog.Hash

func (s stored) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, index := range indexes {
		hashes = append(hashes, s[index])
	}
	return hashes, nil
}

// write makes a log of entries, signed and cosigned by new keys, and its files.
func write(asked request) map[string]any {
	save := func(path string, content []byte) {
		file := filepath.Join(asked.Folder, path)
		check(os.MkdirAll(filepath.Dir(file), 0o755))
		check(os.WriteFile(file, content, 0o644))
	}
	var hashes stored
	entries := [][]byte{}
	for index, text := range asked.Entries {
		entries = append(entries, unhex(text))
		made, err := tlog.StoredHashes(int64(index), entries[index], hashes)
		check(err)
		hashes = append(hashes, made...)
	}
	size := int64(len(entries))
	for _, tile := range tlog.NewTiles(tileHeight, 0, size) {
		content, err := tlog.ReadTileData(tile, hashes)
		check(err)
		save(path(tile), content)
		if tile.L == 0 {
			bundle := []byte{}
			for _, entry := range entries[tile.N<<tileHeight:][:tile.W] {
				bundle = binary.BigEndian.AppendUint16(bundle, uint16(len(entry)))
				bundle = append(bundle, entry...)
			}
			tile.L = -1
			save(path(tile), bundle)
		}
	}
	root, err := tlog.TreeHash(size, hashes)
	check(err)
	name := "collector.example/log"
	private, public, err := note.GenerateKey(rand.Reader, name)
	check(err)
	log, err := note.NewSigner(private)
	check(err)
	witness := cosigner{name: "go.example/witness", time: 1790000000}
	witness.public, witness.private, err = ed25519.GenerateKey(rand.Reader)
	check(err)
	text := fmt.Sprintf("%s\n%d\n%s\n", name, size, root)
	signed, err := note.Sign(&note.Note{Text: text}, log, witness)
	check(err)
	save("checkpoint", signed)
	typed := append([]byte{4}, witness.public...)
	vkey := fmt.Sprintf("%s+%08x+%s", witness.name, witness.KeyHash(), base64.StdEncoding.EncodeToString(typed))
	return map[string]any{"log_key": public, "witness_key": vkey}
}

func main() {
	operations := map[string]func(request) map[string]any{
		"read": read, "prove": prove, "extend": extend, "write": write,
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		check(json.Unmarshal(line, &asked))
		answer := func() (answer map[string]any) {
			defer func() {
				if failure := recover(); failure != nil {
					answer = map[string]any{"error": fmt.Sprint(failure)}
				}
			}()
			return operations[asked.Operation](asked)
		}()
		encoded, err := json.Marshal(answer)
		check(err)
		fmt.Println(string(encoded))
	}
}
