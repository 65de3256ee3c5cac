"""The layers of a transformer over new tokens, caches and memories, in one call without the GIL (csrc/nn/decoder.h)."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from tokkit._core.nn.attention cimport TK_FAR, check_distances
from tokkit._core.nn.encoder cimport check_states
from tokkit._core.nn.kv cimport KeyValues, tk_kv, tk_kv_rows
from tokkit._core.nn.linear cimport PackedExperts, PackedLinear, fused, tk_experts, tk_linear
from tokkit._core.text cimport floats_isa, shape_tuple

cdef extern from "nn/decoder.h" nogil:
    ctypedef struct tk_norm:
        const float *weight
        const float *bias
    ctypedef struct tk_decoder_layer:
        const tk_linear *qkv
        const tk_linear *o
        const tk_linear *up
        const tk_linear *down
        const tk_experts *experts
        const tk_linear *cross_q
        const tk_linear *cross_o
        tk_norm attention
        tk_norm cross
        tk_norm forward
        tk_norm q
        tk_norm k
        tk_norm attended
        tk_norm forwarded
        ptrdiff_t window
        int rope
    ctypedef struct tk_angles:
        const float *cosines
        const float *sines
        size_t half
    ctypedef struct tk_decoder:
        const tk_decoder_layer *layers
        size_t n_layers
        size_t dim
        size_t heads
        size_t kv_heads
        size_t head_dim
        size_t hidden
        int rms
        int activation
        int gated
        int parallel
        int pairs
        int post_norm
        int bidirectional
        float eps
        float scale
        float cap
        tk_angles angles[2]
        const float *by_distance
        ptrdiff_t distance_by
        ptrdiff_t zero
    ctypedef struct tk_memory:
        const float *k
        const float *v
        size_t length
    int tk_decoder_run(const tk_decoder *d, float *x, const size_t *rows, const tk_kv *caches,
                       const tk_memory *memories, size_t n, float *states, int isa, int threads)


cdef class PackedDecoder:
    """Layers of a decoder, or with `bidirectional` of an encoder: immutable, so that threads can share it.

    Each layer is a dict of `qkv`, `o`, `up`, `down` (PackedLinear), norms (weight, bias or None) by the names
    `attention`, `forward` and, if the layer has them, `q`, `k`, `attended`, `forwarded`; a `window` or None; `rope`,
    the number of its table of angles, or -1. Without the norm `attention`, which `post_norm` needs, attention reads x
    itself. `experts` (PackedExperts) may replace `up` and `down`; `cross_q` and `cross_o`, with the norm
    `cross`, are attention to a memory.
    """

    cdef tk_decoder decoder
    cdef tk_decoder_layer *layers
    cdef list kept  # keeps alive what the layers point to
    cdef bint remembers  # whether a layer attends to a memory

    def __cinit__(self, layers not None, *, size_t dim, size_t heads, size_t kv_heads, size_t head_dim, size_t hidden,
                  bint rms, activation, bint gated, bint parallel, bint pairs, float eps, float scale, float cap=0,
                  bint post_norm=False, bint bidirectional=False):
        cdef size_t i, n = len(layers)
        cdef PackedLinear qkv, o, up, down, cross_q, cross_o
        cdef PackedExperts experts
        cdef tk_decoder_layer *layer
        self.kept = []
        self.layers = <tk_decoder_layer *> calloc(n + 1, sizeof(tk_decoder_layer))
        if self.layers is NULL:
            raise MemoryError()
        if not (dim and heads and kv_heads and head_dim and hidden) or heads % kv_heads:
            raise ValueError(
                f"dim is {dim}, heads {heads}, kv_heads {kv_heads}, head_dim {head_dim} and hidden {hidden}; each must "
                f"be at least 1, and heads a multiple of kv_heads"
            )
        if post_norm and parallel:
            raise ValueError("post_norm and parallel are both True; parallel blocks need the norm before them")
        for i in range(n):
            made = layers[i]
            layer = &self.layers[i]
            qkv, o = made["qkv"], made["o"]
            if qkv.shape != ((heads + 2 * kv_heads) * head_dim, dim) or o.shape != (dim, heads * head_dim):
                raise ValueError(
                    f"qkv and o of layer {i} have shapes {qkv.shape} and {o.shape}; they must be "
                    f"{((heads + 2 * kv_heads) * head_dim, dim)} and {(dim, heads * head_dim)}"
                )
            layer.qkv, layer.o = qkv.packed, o.packed
            self.kept.append((qkv, o))
            experts = made.get("experts")
            if experts is not None:
                if experts.dim != dim:
                    raise ValueError(f"the experts of layer {i} have {experts.dim} inputs; they must have {dim}")
                if post_norm or made.get("forwarded") is not None:
                    raise ValueError(f"layer {i} has experts; they need the norm before them, and none after")
                layer.experts = &experts.experts
                self.kept.append(experts)
            else:
                up, down = made["up"], made["down"]
                if up.shape != (hidden * (2 if gated else 1), dim) or down.shape != (dim, hidden):
                    raise ValueError(
                        f"up and down of layer {i} have shapes {up.shape} and {down.shape}; they must be "
                        f"{(hidden * (2 if gated else 1), dim)} and {(dim, hidden)}"
                    )
                layer.up, layer.down = up.packed, down.packed
                self.kept.append((up, down))
            if made.get("cross_q") is not None:
                cross_q, cross_o = made["cross_q"], made["cross_o"]
                if cross_q.shape != (heads * head_dim, dim) or cross_o.shape != (dim, heads * head_dim):
                    raise ValueError(
                        f"cross_q and cross_o of layer {i} have shapes {cross_q.shape} and {cross_o.shape}; they must "
                        f"be {(heads * head_dim, dim)} and {(dim, heads * head_dim)}"
                    )
                layer.cross_q, layer.cross_o = cross_q.packed, cross_o.packed
                layer.cross = self.norm(made, "cross", dim)
                self.kept.append((cross_q, cross_o))
                self.remembers = True
            layer.attention = self.norm(made, "attention", dim)
            layer.forward = self.norm(made, "forward", dim)
            layer.q, layer.k = self.norm(made, "q", head_dim), self.norm(made, "k", head_dim)
            layer.attended, layer.forwarded = self.norm(made, "attended", dim), self.norm(made, "forwarded", dim)
            if layer.forward.weight is NULL:
                raise ValueError(f"layer {i} has no norm 'forward'; each layer must have it")
            if post_norm and layer.attention.weight is NULL:
                raise ValueError(f"layer {i} has no norm 'attention'; post_norm needs it")
            if layer.cross_q is not NULL and layer.cross.weight is NULL:
                raise ValueError(f"layer {i} has no norm 'cross'; cross_q and cross_o need it")
            layer.window = TK_FAR if made["window"] is None else <ptrdiff_t> made["window"]
            layer.rope = made["rope"]
            if layer.window < 1 or not -1 <= layer.rope < 2:
                raise ValueError(
                    f"window of layer {i} is {made['window']} and rope {layer.rope}; window must be None or at least "
                    f"1, rope from -1 to 1"
                )
        self.decoder.layers, self.decoder.n_layers, self.decoder.dim = self.layers, n, dim
        self.decoder.heads, self.decoder.kv_heads, self.decoder.head_dim = heads, kv_heads, head_dim
        # Layers of experts have scratch memory of their own.
        self.decoder.hidden = 0 if all(made.get("experts") is not None for made in layers) else hidden
        self.decoder.rms, self.decoder.gated, self.decoder.parallel, self.decoder.pairs = rms, gated, parallel, pairs
        self.decoder.activation = fused(activation)
        self.decoder.eps, self.decoder.scale, self.decoder.cap = eps, scale, cap
        self.decoder.post_norm, self.decoder.bidirectional = post_norm, bidirectional

    cdef tk_norm norm(self, dict layer, str name, size_t size) except *:
        cdef tk_norm made
        cdef const float[::1] weight, bias
        made.weight = made.bias = NULL
        if layer.get(name) is not None:
            weight, bias = layer[name]
            if <size_t> weight.shape[0] != size or (bias is not None and <size_t> bias.shape[0] != size):
                raise ValueError(
                    f"the norm {name!r} has {weight.shape[0]} weights and {'no' if bias is None else bias.shape[0]} "
                    f"biases; it must have {size}"
                )
            made.weight = &weight[0]
            if bias is not None:
                made.bias = &bias[0]
            self.kept.append((weight, bias))
        return made

    cdef int check(self, const Py_ssize_t *keys, const Py_ssize_t *values, name, Py_ssize_t number) except -1:
        cdef tk_decoder *d = &self.decoder
        for j in range(4):
            if keys[j] != values[j]:
                raise ValueError(
                    f"keys and values of {name} {number} have shapes {shape_tuple(keys, 4)} and "
                    f"{shape_tuple(values, 4)}; they must be the same"
                )
        if (<size_t> keys[0], <size_t> keys[1], <size_t> keys[3]) != (d.n_layers, d.kv_heads, d.head_dim):
            raise ValueError(
                f"keys of {name} {number} have shape {shape_tuple(keys, 4)}; it must be ({d.n_layers}, {d.kv_heads}, "
                f"length, {d.head_dim})"
            )
        return 0

    cdef int check_cache(self, const tk_kv *kv, size_t n_layers, size_t length, Py_ssize_t number) except -1:
        # A cache must have room for `length` tokens; a layer with a window may move its tokens to make room.
        cdef tk_decoder *d = &self.decoder
        if (n_layers, kv.heads, kv.head_dim) != (d.n_layers, d.kv_heads, d.head_dim):
            raise ValueError(
                f"cache {number} has {n_layers} layers and {kv.heads} heads of {kv.head_dim} dimensions; it must have "
                f"{d.n_layers} layers and {d.kv_heads} heads of {d.head_dim}"
            )
        for i in range(n_layers):
            if kv.layers[i].first and kv.length < kv.layers[i].first + <size_t> (d.layers[i].window - 1):
                raise ValueError(
                    f"cache {number} has only the tokens from {kv.layers[i].first} on in layer {i}; at length "
                    f"{kv.length}, its window of {d.layers[i].window} needs earlier ones"
                )
            if length - kv.layers[i].first > kv.layers[i].room < tk_kv_rows(length, d.layers[i].window):
                raise ValueError(
                    f"cache {number} has room for {kv.layers[i].room} tokens in layer {i}, too few for a sequence of "
                    f"{length}"
                )
        return 0

    def __dealloc__(self):
        free(self.layers)

    def run(self, float[:, ::1] x not None, const int64_t[::1] rows not None, caches, *, memories=None, angles=(),
            const float[:, ::1] by_distance=None, Py_ssize_t zero=0, float[:, :, ::1] states=None, int threads=1,
            isa=None):
        """Change x (sum of rows, dim) in place, and write new keys and values.

        Sequence i has rows[i] new tokens, and caches[i] = (KeyValues, length) of those before; with None, each sequence
        is complete, and no keys or values are kept. memories[i] = (keys, values), arrays (n_layers, kv_heads, length,
        head_dim), is what sequence i also attends to. `angles` are pairs of cosines and sines (positions, half) by
        the numbers that the layers name.

        `by_distance` (heads, …) at [zero + d] is added to the score of a key d tokens earlier; `zero` is at least the
        sum of rows.
        """
        cdef tk_decoder d = self.decoder
        cdef tk_kv *kv = NULL
        cdef tk_memory *read = NULL
        cdef size_t *counts = NULL
        cdef KeyValues held
        cdef const float[:, :, :, ::1] memory_keys, memory_values
        cdef const float[:, ::1] cosines, sines
        cdef float *out = NULL
        cdef Py_ssize_t i, n = rows.shape[0], total = 0, longest = 0
        cdef int status = 0, chosen = floats_isa(isa)
        if <size_t> x.shape[1] != d.dim or (caches is not None and len(caches) != n) or len(angles) > 2:
            raise ValueError(
                f"x has {x.shape[1]} columns, and there are {n} sequences, {'no' if caches is None else len(caches)} "
                f"caches and {len(angles)} angles; x must have {d.dim} columns, caches be None or one for each "
                f"sequence, and angles at most 2"
            )
        if caches is not None and d.bidirectional:
            raise ValueError("caches are given; bidirectional layers read later tokens and cannot have caches")
        if (memories is not None) != self.remembers:
            raise ValueError("memories must be given if, and only if, layers have cross_q and cross_o")
        if memories is not None and len(memories) != n:
            raise ValueError(f"there are {len(memories)} memories for {n} sequences; there must be one for each")
        for i in range(n):
            if rows[i] < 0:
                raise ValueError(f"rows[{i}] is {rows[i]}; it must be at least 0")
            total += rows[i]
        if total != x.shape[0]:
            raise ValueError(f"the sum of rows is {total}; it must be the number of rows of x, {x.shape[0]}")
        if not total or not d.n_layers:
            return
        counts = <size_t *> calloc(n, sizeof(size_t))
        try:
            if caches is not None:
                kv = <tk_kv *> calloc(n, sizeof(tk_kv))
            if memories is not None:
                read = <tk_memory *> calloc(n, sizeof(tk_memory))
            if counts is NULL or (caches is not None and kv is NULL) or (memories is not None and read is NULL):
                raise MemoryError()
            for i in range(n):
                counts[i] = rows[i]
                longest = max(longest, rows[i])
                if memories is not None and rows[i]:
                    memory_keys, memory_values = memories[i]
                    self.check(memory_keys.shape, memory_values.shape, "memory", i)
                    if not memory_keys.shape[2]:
                        raise ValueError(f"memory {i} has length 0; it must have at least 1 key")
                    read[i] = tk_memory(&memory_keys[0, 0, 0, 0], &memory_values[0, 0, 0, 0], memory_keys.shape[2])
                if caches is None:
                    continue
                held, length = caches[i]
                kv[i] = held.kv
                kv[i].length = length
                self.check_cache(&kv[i], held.n_layers, length + rows[i], i)
                longest = max(longest, <Py_ssize_t> length + rows[i])
            for i in range(len(angles)):
                cosines, sines = angles[i]
                if (cosines.shape[0] < longest or sines.shape[0] != cosines.shape[0]
                        or cosines.shape[1] != sines.shape[1]
                        or not 0 < 2 * <size_t> cosines.shape[1] <= d.head_dim):
                    raise ValueError(
                        f"cosines and sines {i} have shapes {shape_tuple(cosines.shape, 2)} and "
                        f"{shape_tuple(sines.shape, 2)}; they must be the same, with at least {longest} positions and "
                        f"from 1 to {d.head_dim // 2} columns"
                    )
                d.angles[i] = tk_angles(&cosines[0, 0], &sines[0, 0], cosines.shape[1])
            for i in range(<Py_ssize_t> d.n_layers):
                if d.layers[i].rope >= <int> len(angles):
                    raise ValueError(f"rope of layer {i} is {d.layers[i].rope}; only {len(angles)} angles are given")
            if by_distance is not None:
                check_distances(by_distance, zero, d.heads, longest, total)
                d.by_distance, d.distance_by, d.zero = &by_distance[0, 0], by_distance.shape[1], zero
            if states is not None:
                check_states(states, d.n_layers, x.shape)
                out = &states[0, 0, 0]
            with nogil:
                status = tk_decoder_run(&d, &x[0, 0], counts, kv, read, n, out, chosen, max(1, threads))
        finally:
            free(kv)
            free(read)
            free(counts)
        if status:
            raise MemoryError()
