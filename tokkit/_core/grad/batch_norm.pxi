# Batch norm of rows, forward and backward, without the GIL (csrc/nn/grad_rows.h).


def batch_norm(Rows x not None, const float[::1] weight not None, const float[::1] bias not None,
               float[::1] mean not None, float[::1] variance not None, float[:, :] y not None, *, float eps=1e-5,
               bint of_batch=True, int threads=1, isa=None):
    """Write (x - mean) / sqrt(variance + eps) weight + bias of columns of x (n, m) to y, which may be x.

    With `of_batch` the mean and the variance (m), divided by n, are computed first; else they are read.
    """
    cdef tk_grad_rows_work w
    if not begin_back(&w, x, x, y):
        return
    same_length(weight, w.m, "weight")
    same_length(bias, w.m, "bias")
    same_length(mean, w.m, "mean")
    same_length(variance, w.m, "variance")
    w.y, w.y_step, w.eps, w.of_batch = w.dx, w.dx_step, eps, of_batch
    w.weight, w.bias, w.mean, w.variance = &weight[0], &bias[0], &mean[0], &variance[0]
    run_back(&w, TK_BATCH_NORM, threads, isa)


def batch_norm_back(Rows dy not None, Rows x not None, const float[::1] weight not None, float[::1] mean not None,
                    float[::1] variance not None, float[:, :] dx not None, float[::1] dweight not None,
                    float[::1] dbias not None, *, float eps=1e-5, bint of_batch=True, int threads=1, isa=None):
    """Write the gradient of what `batch_norm` read to dx, which may be dy; add those of weight and bias to theirs."""
    cdef tk_grad_rows_work w
    if not begin_back(&w, dy, x, dx):
        return
    same_length(weight, w.m, "weight")
    same_length(mean, w.m, "mean")
    same_length(variance, w.m, "variance")
    same_length(dweight, w.m, "dweight")
    same_length(dbias, w.m, "dbias")
    w.weight, w.mean, w.variance, w.eps, w.of_batch = &weight[0], &mean[0], &variance[0], eps, of_batch
    w.dweight, w.dbias = &dweight[0], &dbias[0]
    run_back(&w, TK_BATCH_NORM_BACK, threads, isa)
