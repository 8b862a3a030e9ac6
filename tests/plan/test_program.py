"""What is read off a compiled program's text, on a small one written by hand, and the time of a step of it."""

import pytest

from solver.plan.program import Kernel, Program, read_kernels
from solver.plan.rates import Rates
from solver.plan.target import kernel_time, timeline
from solver.plan.timing import LAUNCH, exchange_time

TEXT = """HloModule jit_steps, is_scheduled=true

%fused_multiply (param_0: f32[8,8,8], param_1: f32[8,8,8]) -> f32[8,8,8] {
  %param_0 = f32[8,8,8]{2,1,0} parameter(0)
  %param_1 = f32[8,8,8]{2,1,0} parameter(1)
  ROOT %multiply.1 = f32[8,8,8]{2,1,0} multiply(%param_0, %param_1)
}

%inner (carry.1: (s32[], f32[4])) -> (s32[], f32[4]) {
  %carry.1 = (s32[], f32[4]{0}) parameter(0)
  %part = f32[4]{0} get-tuple-element(%carry.1), index=1
  %copy.9 = f32[4]{0} copy(%part)
  ROOT %tuple.9 = (s32[], f32[4]{0}) tuple(%carry.1, %copy.9)
}

%cheap (given.1: f32[4]) -> f32[4] {
  %given.1 = f32[4]{0} parameter(0)
  ROOT %copy.5 = f32[4]{0} copy(%given.1)
}

%dear (given.2: f32[4]) -> f32[4] {
  %given.2 = f32[4]{0} parameter(0)
  %copy.6 = f32[4]{0} copy(%given.2)
  ROOT %copy.7 = f32[4]{0} copy(%copy.6)
}

%body (carry: (s64[], f32[8,8,8], f32[4])) -> (s64[], f32[8,8,8], f32[4]) {
  %carry = (s64[], f32[8,8,8]{2,1,0}, /*index=2*/f32[4]{0}) parameter(0)
  %u = f32[8,8,8]{2,1,0} get-tuple-element(%carry), index=1
  %few = f32[4]{0} get-tuple-element(%carry), index=2
  %fusion.1 = f32[8,8,8]{2,1,0} fusion(%u, %u), kind=kLoop, calls=%fused_multiply
  %fft.1 = c64[8,8,5]{2,1,0} fft(%fusion.1), fft_type=RFFT, fft_length={8,8}, metadata={op_name="x(y)"}
  %all-to-all-start.1 = ((c64[8,8,5]), c64[8,8,5]) all-to-all-start(%fft.1), replica_groups={{0,2},{1,3}}
  %fusion.2 = f32[8,8,8]{2,1,0} fusion(%fusion.1, %u), kind=kLoop, calls=%fused_multiply
  %all-to-all-done.1 = c64[8,8,5]{2,1,0} all-to-all-done(%all-to-all-start.1)
  %fft.2 = f32[8,8,8]{2,1,0} fft(%all-to-all-done.1), fft_type=IRFFT, fft_length={8}
  %while.2 = (s32[], f32[4]) while(%few), body=%inner, backend_config={"known_trip_count":{"n":"3"}}
  %conditional.1 = f32[4]{0} conditional(%few, %few, %few), branch_computations={%dear, %cheap}
  ROOT %tuple.1 = (s64[], f32[8,8,8]{2,1,0}, f32[4]{0}) tuple(%carry, %fft.2, %few)
}

%condition (carry.3: (s64[], f32[8,8,8], f32[4])) -> pred[] {
  %carry.3 = (s64[], f32[8,8,8]{2,1,0}, f32[4]{0}) parameter(0)
  ROOT %go = pred[] constant(true)
}

ENTRY %main (argument: f32[8,8,8]) -> f32[8,8,8] {
  %argument = f32[8,8,8]{2,1,0} parameter(0)
  %start = (s64[], f32[8,8,8]{2,1,0}, f32[4]{0}) tuple(%argument)
  %while.1 = (s64[], f32[8,8,8]{2,1,0}, f32[4]{0}) while(%start), condition=%condition, body=%body
  ROOT %result = f32[8,8,8]{2,1,0} get-tuple-element(%while.1), index=1
}
"""
FIELD, MODES = 4 * 512, 8 * 320  # bytes
RATES = Rates("a device", memory=1e12, link=1e11, network=1e10, gpus_per_host=4)


@pytest.fixture
def program():
    return Program(tuple(read_kernels(TEXT)), arguments=100, outputs=60, scratch=500, shared=60)


def test_kernels_of_the_loop_in_their_order(program):
    names = [k.name for k in program.kernels]
    assert names[:6] == ["%fusion.1", "%fft.1", "%all-to-all-start.1", "%fusion.2", "%all-to-all-done.1", "%fft.2"]
    assert names[6:] == ["%copy.9"] * 3 + ["%copy.5"]  # a loop of three turns; of a choice the cheaper branch


SLICES = """HloModule jit_few, is_scheduled=true

%fused_slices (param_0: c64[6,4,8], param_1: c64[8], param_2: c64[4,90]) -> c64[4,8] {
  %param_0 = c64[6,4,8]{2,1,0} parameter(0)
  %param_1 = c64[8]{0} parameter(1)
  %param_2 = c64[4,90]{1,0} parameter(2)
  %transpose.1 = c64[4,6,8]{2,1,0} transpose(%param_0), dimensions={1,0,2}
  %bitcast.1 = c64[24,8]{1,0} bitcast(%transpose.1)
  %real.1 = f32[24,8]{1,0} real(%bitcast.1)
  %imag.1 = f32[24,8]{1,0} imag(%bitcast.1)
  %negate.1 = f32[24,8]{1,0} negate(%imag.1)
  %complex.1 = c64[24,8]{1,0} complex(%real.1, %negate.1)
  %slice.1 = c64[2,8]{1,0} slice(%complex.1), slice={[0:2], [0:8]}
  %slice.2 = c64[2,8]{1,0} slice(%complex.1), slice={[6:8], [0:8]}
  %part = c64[4]{0} slice(%param_1), slice={[0:4]}
  %places = s32[8,1]{1,0} iota(), iota_dimension=0
  %gather.1 = c64[4,8]{1,0} gather(%param_2, %places), offset_dims={0}
  %sum = c64[4,8]{1,0} add(%slice.1, %param_1)
  ROOT %join = c64[4,8]{1,0} concatenate(%slice.1, %slice.2, %sum, %gather.1)
}

ENTRY %main (u: c64[6,4,8], v: c64[8], w: c64[4,90]) -> c64[4,8] {
  %u = c64[6,4,8]{2,1,0} parameter(0)
  %v = c64[8]{0} parameter(1)
  %w = c64[4,90]{1,0} parameter(2)
  ROOT %fusion.1 = c64[4,8]{1,0} fusion(%u, %v, %w), kind=kLoop, calls=%fused_slices
}
"""


def test_of_an_operand_that_is_sliced_only_the_slices_are_read():
    """The first operand is taken apart, of the third a few places are read; the second is also used whole."""
    (kernel,) = read_kernels(SLICES)
    assert kernel.read == 8 * (2 * 16 + 8 + 32)


def test_bytes_and_passes(program):
    first, forward, _, _, _, inverse = program.kernels[:6]
    assert (first.read, first.written) == (2 * FIELD, FIELD)
    assert (forward.lengths, forward.inverse, forward.elements) == ((8, 8), False, 512)
    assert (inverse.lengths, inverse.inverse) == ((8,), True)
    copies = 4 * 2 * 16
    assert program.moved == 2 * 3 * FIELD + 2 * (FIELD + MODES) + (MODES + FIELD) + copies
    assert inverse.real
    assert program.copied_and_scaled == 2 * (FIELD + MODES), "scaled, and copied before"
    assert program.held == 600
    assert program.workspace == MODES


def test_an_exchange_and_its_wait(program):
    exchange, wait = program.kernels[2], program.kernels[4]
    assert (exchange.kind, exchange.written, exchange.members, exchange.stride) == ("all-to-all", MODES, 2, 2)
    assert program.exchanges == [exchange]
    assert wait.waits_for == exchange.name
    assert wait not in program.exchanges


def test_time_of_a_step(program):
    """Each of the small kernels takes the time of a launch, but where memory or an exchange takes longer."""
    took = exchange_time(RATES, MODES, 2, 2, 4)
    done = timeline(program, RATES, 4)
    assert done.exchanging == pytest.approx(took)
    assert done.work == pytest.approx(LAUNCH * (2 + 2 + 3 + 4))  # two axes forward; back one, its copy and its scaling
    assert done.while_exchanging == pytest.approx(LAUNCH)
    assert done.waiting == pytest.approx(max(0.0, took - LAUNCH))
    assert done.total == pytest.approx(done.work + done.waiting)
    assert done.covered == pytest.approx(1 - done.waiting / took)
    slow = Rates("slow", memory=1e6, link=1e11, network=1e10, gpus_per_host=4)
    later = timeline(program, slow, 4)
    assert later.waiting == 0  # the exchange ends before the kernel beside it
    assert later.covered == 1
    assert kernel_time(program.kernels[0], slow) == pytest.approx(3 * FIELD / 1e6)


@pytest.mark.parametrize(("length", "passes"), [(512, 1), (384, 1.7), (32768, 2)])
def test_passes_of_real_lines(length, passes):
    """More where the length is no power of two; an inverse one is copied and scaled."""
    rates = Rates("slow", memory=1e3, link=1e11, network=1e10, gpus_per_host=4)
    sizes = {"read": 4 * length, "written": 4 * length + 8, "lengths": (length,), "real": True, "elements": length}
    forward = Kernel("%fft.1", "fft", **sizes)
    inverse = Kernel("%fft.2", "fft", inverse=True, **sizes)
    assert kernel_time(forward, rates) == pytest.approx(passes * (8 * length + 8) / 1e3)
    assert kernel_time(inverse, rates) - kernel_time(forward, rates) == pytest.approx(2 * (8 * length + 8) / 1e3)


def test_a_program_without_a_loop():
    text = (
        TEXT.split("ENTRY")[0].replace("while(", "copy(")
        + """ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %copy.1 = f32[8]{0} copy(%a)
}
"""
    )
    assert [(k.name, k.read, k.written) for k in read_kernels(text)] == [("%copy.1", 32, 32)]


def test_asynchronous_operations_in_wrappers():
    """The other way in which XLA writes them."""
    text = """%wrapped (p: c64[4]) -> c64[4] {
  %p = c64[4]{0} parameter(0)
  ROOT %all-to-all.7 = c64[4]{0} all-to-all(%p), replica_groups={{0,1}}, dimensions={0}
}

ENTRY %main (a: c64[4]) -> c64[4] {
  %a = c64[4]{0} parameter(0)
  %all-to-all-start = ((c64[4]{0}), c64[4]{0}) async-start(%a), calls=%wrapped
  ROOT %all-to-all-done = c64[4]{0} async-done(%all-to-all-start)
}
"""
    start, done = read_kernels(text)
    assert (start.kind, start.written, start.members) == ("all-to-all", 32, 2)
    assert done.waits_for == start.name
