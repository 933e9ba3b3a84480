"""The settings of the layers and estimators that are read, by the arguments of their constructors.

Each argument is one of
    read      the network has it
    refused   another value than the default is refused by name, by changed()
    checked   the rule of the layer reads it, or refuses what Loom lacks
    training  it counts in training alone, which a note says
    fit       it decides what fit() finds, which is read
    rounding  the framework rounds by it; the network computes in float32
    harmless  without effect on the answer; reason_of() says why
An argument that is in no table, as of a newer version, is refused by name where it has another value than its default.
"""

from __future__ import annotations

import inspect

import numpy

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from typing import Any

REASONS = {
    "_freeze": "whether the table learns is a setting of the trainer",
    "_weight": "the table is read as it is",
    "backward_layer": "the layer itself is read",
    "axis_index_groups": "of statistics of batches, which are refused",
    "axis_name": "of statistics of batches, which are refused",
    "broadcast_rngs": "how random numbers reach the steps",
    "copy": "where the framework writes its result",
    "copy_X": "where fit() writes",
    "data_format": "the axes are turned",
    "deterministic": "the model is read as it answers after training",
    "device": "where the framework stores the numbers",
    "enable_nested_tensor": "a faster way to the same answer",
    "flash_attention": "a faster way to the same answer",
    "forward_rnn": "the layer itself is read",
    "in_kv_features": "the shape of the weights says it",
    "inference": "the model is read as it answers after training",
    "inplace": "where the framework writes its result",
    "keep_order": "refused with reverse alone",
    "keep_rngs": "how random numbers are kept",
    "key": "for the initial weights",
    "layer": "the layer itself is read",
    "mask_check": "a faster way to the same answer",
    "max_value": "an old name of max_val",
    "min_value": "an old name of min_val",
    "momentum": "of statistics that the layer does not keep",
    "memory": "where fit() keeps steps",
    "n_jobs": "how fit() is computed",
    "name": "a name",
    "noise_shape": "of a layer that does nothing after training",
    "norm_type": "of max_norm, which is refused",
    "parent": "where the layer stands",
    "renorm_clipping": "of renorm, which is refused",
    "renorm_momentum": "of renorm, which is refused",
    "rng_collection": "which random numbers dropout draws",
    "rngs": "for the initial weights",
    "seed": "which random numbers are drawn in training",
    "split_rngs": "how random numbers reach the steps",
    "sparse": "how the framework stores gradients",
    "state_axes": "which variables each step has of its own: a step of a cell has none",
    "steps": "the steps themselves are read",
    "unit_forget_bias": "for the initial weights",
    "unroll": "a faster way to the same answer",
    "use_cudnn": "a faster way to the same answer",
    "variable_axes": "which variables each step has of its own: a step of a cell has none",
    "variable_broadcast": "which variables the steps share: those of a cell are shared",
    "variable_carry": "which variables the steps hand on: a cell has none",
    "verbose": "what fit() prints",
    "weights": "the weights are read as they are",
}


def _of(read: str = "", **kinds: str) -> dict[str, str]:
    """A table from lists of names in one text each."""
    return {name: kind for kind, names in {"read": read, **kinds}.items() for name in names.split()}


def _each(names: str, table: dict[str, str], **more: dict[str, str]) -> dict[str, dict[str, str]]:
    return {name: {**table, **more.get(name, {})} for name in names.split()}


_STORED = _of(harmless="device", rounding="dtype")
_INPLACE = _of(harmless="inplace")
_CONVOLUTION = _of("in_channels out_channels kernel_size stride padding dilation groups bias", checked="padding_mode")
_RECURRENT = _of("input_size hidden_size num_layers bias dropout bidirectional", checked="batch_first")

TORCH: dict[str, dict[str, str]] = {
    "Identity": {},
    **_each("Linear NonDynamicallyQuantizableLinear", _of("in_features out_features bias") | _STORED),
    **_each("Conv1d Conv2d Conv3d", _CONVOLUTION | _STORED),
    **_each("ConvTranspose1d ConvTranspose2d ConvTranspose3d", _CONVOLUTION | _of("output_padding") | _STORED),
    **_each(
        "MaxPool1d MaxPool2d MaxPool3d", _of("kernel_size stride padding dilation ceil_mode", checked="return_indices")
    ),
    **_each(
        "AvgPool1d AvgPool2d AvgPool3d",
        _of("kernel_size stride padding ceil_mode count_include_pad", checked="divisor_override"),
    ),
    **_each("AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d", _of("output_size")),
    **_each("AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d", _of("output_size", checked="return_indices")),
    **_each(
        "BatchNorm1d BatchNorm2d BatchNorm3d",
        _of("num_features eps", checked="momentum affine bias track_running_stats") | _STORED,
    ),
    "LayerNorm": _of("normalized_shape eps elementwise_affine bias") | _STORED,
    "RMSNorm": _of("normalized_shape eps elementwise_affine") | _STORED,
    "GroupNorm": _of("num_groups num_channels eps", checked="affine bias") | _STORED,
    **_each(
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
        _of("num_features eps affine", harmless="momentum", checked="track_running_stats bias") | _STORED,
    ),
    "Embedding": _of(
        "num_embeddings embedding_dim",
        checked="max_norm",
        training="padding_idx scale_grad_by_freq",
        harmless="norm_type sparse _weight _freeze",
    )
    | _STORED,
    "RNN": _RECURRENT | _of("nonlinearity") | _STORED,
    "LSTM": _RECURRENT | _of(checked="proj_size") | _STORED,
    "GRU": _RECURRENT | _STORED,
    "MultiheadAttention": _of(
        "embed_dim num_heads bias dropout", checked="batch_first add_bias_kv add_zero_attn kdim vdim"
    )
    | _STORED,
    "TransformerEncoderLayer": _of(
        "d_model nhead dim_feedforward dropout activation layer_norm_eps norm_first bias", checked="batch_first"
    )
    | _STORED,
    "TransformerEncoder": _of("encoder_layer num_layers norm", harmless="enable_nested_tensor mask_check"),
    "Dropout": _of("p") | _INPLACE,
    **_each("Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout", _of(checked="p") | _INPLACE),
    **_each("ReLU ReLU6 SiLU Mish SELU Hardsigmoid Hardswish", _INPLACE),
    **_each("Tanh Sigmoid Softsign Softmax2d", {}),
    "GELU": _of("approximate"),
    "LeakyReLU": _of("negative_slope") | _INPLACE,
    "ELU": _of("alpha") | _INPLACE,
    "Softplus": _of(checked="beta threshold"),
    "Hardtanh": _of(checked="min_val max_val", harmless="min_value max_value") | _INPLACE,
    "Softmax": _of("dim"),
    "Flatten": _of("start_dim end_dim"),
    "Unflatten": _of("dim unflattened_size"),
    **_each("ZeroPad1d ZeroPad2d ZeroPad3d", _of("padding")),
}


def _trained(*names: str) -> dict[str, str]:
    """Arguments of Keras for the training of each weight."""
    training = " ".join(f"{name}_{end}" for name in names for end in ("regularizer", "constraint"))
    return _of(training=training, harmless=" ".join(f"{name}_initializer" for name in names))


# Arguments of keras.Layer itself.
_LAYER = _of(rounding="dtype autocast", training="trainable activity_regularizer", harmless="name")
_KERAS_CONVOLUTION = _of("kernel_size strides padding dilation_rate activation use_bias", harmless="data_format")
_KERAS_RECURRENT = _of(
    "units use_bias return_sequences",
    refused="return_state go_backwards stateful unroll",
    checked="activation dropout recurrent_dropout",
    harmless="seed",
) | _trained("kernel", "recurrent", "bias")
_ADAPTED = _of(refused="lora_rank lora_alpha quantization_config")

KERAS: dict[str, dict[str, str]] = {
    "Activation": _of("activation"),
    "ReLU": _of("max_value negative_slope", refused="threshold"),
    "LeakyReLU": _of("negative_slope"),
    "ELU": _of("alpha"),
    "Softmax": _of("axis"),
    "Dense": _of("units activation use_bias") | _ADAPTED | _trained("kernel", "bias"),
    "TimeDistributed": _of(harmless="layer"),
    **_each("Conv1D Conv2D Conv3D", _KERAS_CONVOLUTION | _of("filters groups") | _trained("kernel", "bias")),
    **_each(
        "DepthwiseConv1D DepthwiseConv2D", _KERAS_CONVOLUTION | _of("depth_multiplier") | _trained("depthwise", "bias")
    ),
    **_each(
        "SeparableConv1D SeparableConv2D",
        _KERAS_CONVOLUTION | _of("filters depth_multiplier") | _trained("depthwise", "pointwise", "bias"),
    ),
    **_each(
        "Conv1DTranspose Conv2DTranspose Conv3DTranspose",
        _KERAS_CONVOLUTION | _of("filters", checked="output_padding dilation_rate") | _trained("kernel", "bias"),
    ),
    **_each(
        "MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D",
        _of("pool_size strides padding", harmless="data_format"),
    ),
    **_each(
        "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling1D "
        "GlobalMaxPooling2D GlobalMaxPooling3D",
        _of("keepdims", harmless="data_format"),
    ),
    "BatchNormalization": _of(
        "axis momentum epsilon center scale",
        refused="renorm",
        training="synchronized",
        harmless="renorm_clipping renorm_momentum moving_mean_initializer moving_variance_initializer",
    )
    | _trained("beta", "gamma"),
    "LayerNormalization": _of("axis epsilon center scale", refused="rms_scaling") | _trained("beta", "gamma"),
    "RMSNormalization": _of("axis epsilon"),
    "GroupNormalization": _of("groups axis epsilon center scale") | _trained("beta", "gamma"),
    "Embedding": _of("input_dim output_dim", refused="mask_zero", harmless="weights")
    | _ADAPTED
    | _trained("embeddings"),
    "SimpleRNN": _KERAS_RECURRENT,
    "LSTM": _KERAS_RECURRENT | _of(checked="recurrent_activation", harmless="unit_forget_bias use_cudnn"),
    "GRU": _KERAS_RECURRENT | _of(checked="recurrent_activation reset_after", harmless="use_cudnn"),
    "Bidirectional": _of("merge_mode", harmless="layer weights backward_layer"),
    "MultiHeadAttention": _of(
        "num_heads key_dim value_dim use_bias output_shape attention_axes",
        refused="use_gate sliding_window",
        checked="dropout",
        harmless="flash_attention seed",
    )
    | _trained("kernel", "bias"),
    "Flatten": _of("data_format"),
    "Reshape": _of("target_shape"),
    "Permute": _of("dims"),
    "Dropout": _of("rate noise_shape", harmless="seed"),
    **_each("SpatialDropout1D SpatialDropout2D SpatialDropout3D", _of(checked="rate", harmless="data_format seed")),
    "GaussianNoise": _of(checked="stddev", harmless="seed"),
    "GaussianDropout": _of(checked="rate", harmless="seed"),
    "AlphaDropout": _of(checked="rate", harmless="seed noise_shape"),
    "ActivityRegularization": _of(training="l1 l2"),
    **_each("Add Average Subtract Multiply", {}),
    "Concatenate": _of("axis"),
    "Rescaling": _of("scale offset"),
    **_each("ZeroPadding1D ZeroPadding2D ZeroPadding3D", _of("padding", harmless="data_format")),
}
KERAS = {name: {**_LAYER, **table} for name, table in KERAS.items()}

_FLAX = _of(
    rounding="dtype param_dtype promote_dtype",
    harmless="parent name rngs bias_init scale_init bias_metadata scale_metadata",
)
_FLAX_NORM = _FLAX | _of(
    "epsilon use_bias use_scale",
    refused="axis_name axis_index_groups",
    rounding="use_fast_variance force_float32_reductions",
)
_FLAX_CELL = _FLAX | _of(
    "features in_features hidden_features activation_fn",
    refused="carry_init",
    harmless=("kernel_init recurrent_kernel_init kernel_metadata recurrent_kernel_metadata keep_rngs"),
)
_FLAX_ATTENTION = _FLAX | _of(
    "num_heads in_features qkv_features out_features use_bias",
    refused="attention_fn normalize_qk qkv_dot_general out_dot_general qkv_dot_general_cls "
    "out_dot_general_cls qk_attn_weights_einsum_cls attn_weights_value_einsum_cls",
    checked="decode num_kv_heads dropout_rate broadcast_dropout deterministic",
    rounding="precision force_fp32_for_softmax qkv_promote_dtype out_promote_dtype ln_promote_dtype",
    harmless="in_kv_features keep_rngs kernel_init out_kernel_init out_bias_init kernel_metadata out_kernel_metadata "
    "out_bias_metadata query_ln_scale_metadata key_ln_scale_metadata",
)
_FLAX_LOOPS = _FLAX | _of(
    checked="reverse",
    refused="time_major return_carry",
    harmless=("keep_order unroll variable_axes variable_broadcast variable_carry split_rngs state_axes broadcast_rngs"),
)

FLAX: dict[str, dict[str, str]] = {
    "LayerNorm": _FLAX_NORM | _of("num_features reduction_axes", refused="feature_axes"),
    "RMSNorm": _FLAX_NORM | _of("num_features reduction_axes", refused="feature_axes"),
    "BatchNorm": _FLAX_NORM
    | _of("num_features use_running_average momentum axis", harmless="axis_name axis_index_groups"),
    "GroupNorm": _FLAX_NORM | _of("num_features num_groups group_size", refused="reduction_axes"),
    "InstanceNorm": _FLAX_NORM | _of("num_features", refused="feature_axes"),
    "RNN": _FLAX_LOOPS | _of("cell"),
    "Bidirectional": _FLAX_LOOPS | _of("merge_fn backward_rnn", harmless="forward_rnn"),
    **_each("MultiHeadDotProductAttention MultiHeadAttention SelfAttention", _FLAX_ATTENTION),
    "Dropout": _FLAX | _of("rate", checked="deterministic", training="broadcast_dims", harmless="rng_collection"),
    **_each("LSTMCell OptimizedLSTMCell", _FLAX_CELL | _of("gate_fn")),
    "GRUCell": _FLAX_CELL | _of("gate_fn"),
    "SimpleCell": _FLAX_CELL | _of("residual"),
}

_EQX = _of(rounding="dtype")
EQUINOX: dict[str, dict[str, str]] = {
    "LayerNorm": _EQX | _of("shape eps use_weight use_bias elementwise_affine"),
    "RMSNorm": _EQX | _of("shape eps use_weight use_bias"),
    "GroupNorm": _EQX | _of("groups channels eps channelwise_affine"),
    **_each("LSTMCell GRUCell", _EQX | _of("input_size hidden_size use_bias", harmless="key")),
    "MultiheadAttention": _EQX
    | _of(
        "num_heads query_size key_size value_size output_size qk_size vo_size "
        "use_query_bias use_key_bias use_value_bias use_output_bias",
        checked="dropout_p",
        harmless="inference key",
    ),
    "Embedding": _EQX | _of("num_embeddings embedding_size", harmless="key") | {"weight": "read"},
    "BatchNorm": _EQX | _of(checked="input_size axis_name eps channelwise_affine momentum inference mode"),
    "Dropout": _of("p", harmless="deterministic inference"),
}

# Arguments that decide how fit() finds the numbers that are read afterwards.
_FIT = _of(
    fit="alpha batch_size learning_rate learning_rate_init power_t max_iter shuffle random_state tol "
    "warm_start momentum nesterovs_momentum early_stopping validation_fraction beta_1 beta_2 epsilon "
    "n_iter_no_change max_fun solver l1_ratio precompute positive selection penalty eta0 average dual "
    "C class_weight intercept_scaling max_iter n_components svd_solver iterated_power n_oversamples "
    "power_iteration_normalizer algorithm n_iter quantile_range unit_variance feature_range",
    harmless="copy copy_X n_jobs verbose",
)
_LINEAR = _FIT | _of("fit_intercept")

SKLEARN: dict[str, dict[str, str]] = {
    "Pipeline": _of(harmless="steps memory verbose", refused="transform_input"),
    "StandardScaler": _FIT | _of("with_mean with_std"),
    "MinMaxScaler": _FIT | _of("clip"),
    "MaxAbsScaler": _FIT | _of(refused="clip"),
    "RobustScaler": _FIT | _of("with_centering with_scaling"),
    "PCA": _FIT | _of("whiten"),
    "TruncatedSVD": _FIT,
    **_each("LinearRegression Ridge Lasso ElasticNet SGDRegressor RidgeClassifier", _LINEAR | _of(fit="loss")),
    "SGDClassifier": _LINEAR | _of("loss"),
    "LinearSVC": _LINEAR | _of(fit="loss multi_class"),
    "LogisticRegression": _LINEAR | _of("multi_class solver"),
    "MLPClassifier": _FIT | _of("activation", fit="hidden_layer_sizes loss"),
    "MLPRegressor": _FIT | _of("activation loss", fit="hidden_layer_sizes"),
}


def reason_of(name: str) -> str:
    """Why an argument is harmless."""
    if name.endswith(("_initializer", "_init", "_metadata")):
        return "for the initial weights"
    return REASONS[name]


def changed(table: dict[str, str], cls: Any, value_of: Any) -> tuple[list[tuple[str, Any]], list[str]]:
    """Arguments of a class that have another value than their default: those that are refused, as (name, value), and
    the names of those that count in training alone.

    value_of: returns the live value of an argument; AttributeError or KeyError where there is none.
    """
    refused, training = [], []
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        is_named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        kind = table.get(name, "refused")
        if name == "self" or not is_named or kind not in ("refused", "training"):
            continue
        try:
            value = value_of(name)
        except (AttributeError, KeyError):
            continue
        if parameter.default is parameter.empty or _equal(value, parameter.default):
            continue
        if kind == "training":
            training.append(name)
        else:
            refused.append((name, value))
    return refused, training


def _equal(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return bool(numpy.all(value == default))
    except (TypeError, ValueError):
        return False
