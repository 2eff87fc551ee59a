# SPDX-License-Identifier: Apache-2.0
# What analyze says of a file: as text, as JSON, as a page; its estimate is within 2 % of the truth.
py 'a = bell(3000, 64)
np.save("a.npy", a)
bf16 = (a.view("<u4") >> 16).astype("<u2")
safetensors("m.safetensors", {"w": ("BF16", bf16), "n": ("I32", np.arange(12, dtype="<i4")),
                              "<b&\"": ("F32", bell(4, 8)), "e": ("F16", np.zeros((0, 3), "<f2"))})'
run_json '[(t["name"], t["dtype"], t["shape"], t["codec"], t["logical_bytes"], t["sample_bytes"])
    for t in d["tensors"]], d["logical_bytes"]' lanepack analyze a.npy --json
lanepack analyze a.npy --json >a.json
lanepack pack -q a.npy a.lpk --json >pack.json
py 'd = json.load(open("a.json"))
t = d["tensors"][0]
look = t["looked_at"]
print(sorted(t), sorted(look), sorted(look["field"]))
counts = dict(look["field"]["counts"])
a = np.load("a.npy")
exponents, n = np.unique(a.view("<u4") >> 23 & 255, return_counts=True)
print(counts == dict(zip(exponents.tolist(), n.tolist())))
p = n / n.sum()
print(abs(look["field"]["whole"]["bits"] + (p * np.log2(p)).sum()) < 1e-9)
rows = look["bit_map"]["rows"]
ones = [(a.view("<u4")[:, c] >> b & 1).mean() for b in (31, 23, 0) for c in (0, 63)]
got = [rows[31 - b]["ones"][c] for b in (31, 23, 0) for c in (0, 63)]
print(len(rows), np.allclose(ones, got), "".join(r["part"] for r in rows))
# The paper'"'"'s rule in its own words: a bit is invariant where more than T of the records agree.
words = a.view("<u4")
ones = np.array([(words >> b & 1).mean(axis=0) for b in range(32)])
masked = [float(((ones > T) | (ones < 1 - T)).mean()) for T in (0.70, 0.80, 0.90)]
four, = [v for v in t["invariance"] if v["word_bytes"] == 4]
print([round(r["threshold"], 2) for r in four["rows"]], four["words"],
      np.allclose(masked, [four["rows"][r]["masked_share"] for r in (0, 2, 4)]))
stored = json.load(open("pack.json"))["tensors"][0]["stored_bytes"]
chosen, = [p for p in t["prices"] if p["chosen"]]
print(chosen["codec"], abs(chosen["stored_bytes_estimate"] / stored - 1) < 0.02)'
run_json '[(t["name"], t["codec"], "looked_at" in t) for t in d["tensors"]], len(d["tensors"])' \
    lanepack analyze m.safetensors --json
lanepack analyze m.safetensors >text && grep -c '^\* ' text
grep '^in all' text | sed 's, stored in about.*,,'
lanepack analyze --name w m.safetensors | grep -A 1 '^  ones by bit'
# What single rows touch has a column of its own where it decides.
py 'np.save("short.npy", bell(4096, 8))'
lanepack analyze short.npy --access rows | grep -A 1 '^  codec'
run_json '[(p["codec"], round(p["moved_by_rows"], 2)) for p in d["tensors"][0]["prices"]
    if p["codec"] in ("raw", "lane")]' lanepack analyze short.npy --access rows --json
run_json '["moved_by_rows" in p for p in d["tensors"][0]["prices"]]' \
    lanepack analyze short.npy --json
run lanepack analyze --html m.html m.safetensors
py 'from html.parser import HTMLParser
class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.names, self.pictures, self.bad = [], [], 0, []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",):
            self.open.append(tag)
        self.pictures += tag == "figure"
        self.bad += [v for _, v in attrs if v and ("//" in v or v.startswith("data:"))]
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            self.bad.append(tag)
    def handle_data(self, data):
        if self.open[-1:] == ["h2"]:
            self.names.append(data)
page = Page()
page.feed(open("m.html").read())
page.close()
print(page.names, page.pictures, page.bad, page.open)'
run lanepack analyze --name z m.safetensors
run lanepack analyze --html nowhere/m.html m.safetensors
run lanepack analyze --html h.html missing.npy
[ -e h.html ] || echo no page of a file that is missing
