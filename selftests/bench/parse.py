# SPDX-License-Identifier: GPL-2.0-only
"""Reads what the programs print.  Each reader returns {what: (value, unit)}, or raises
Unreadable with the reason: a program that says nothing, or 0.00, has measured nothing."""

import json

MIB = 1 << 20


class Unreadable(Exception):
    pass


def positive(value, name):
    if not value > 0:
        raise Unreadable(f'{name} is {value}')
    return value


def table_row(text, begins, columns):
    """The first row of numbers below a line that begins so."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip().startswith(begins):
            break
    else:
        raise Unreadable(f'there is no line "{begins} ..."')
    for line in lines:
        words = line.split()
        try:
            row = [float(w) for w in words]
        except ValueError:
            continue
        if len(row) >= columns:
            return row
    raise Unreadable(f'nothing stands below "{begins} ..."')


def perftest_bw(text):
    """#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]; its MB are MiB."""
    row = table_row(text, '#bytes', 5)
    return {'bw': (positive(row[3], 'BW average') * MIB / 1e6, 'MB/s'),
            'rate': (positive(row[4], 'MsgRate') * 1e3, 'kmsg/s')}


def perftest_lat(text):
    """#bytes #iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%, in us."""
    row = table_row(text, '#bytes', 9)
    return {'lat': (positive(row[5], 't_avg'), 'us'), 'lat_p50': (row[4], 'us'), 'lat_p99': (row[7], 'us')}


def ucx(text):
    """Final: iterations, 50 %, average and overall of us, of MB/s (MiB), and of messages a second."""
    for line in text.splitlines():
        words = line.replace('[thread 0]', '').split()
        if words[:1] == ['Final:'] and len(words) >= 9:
            n = [float(w) for w in words[1:9]]
            return {'lat': (positive(n[3], 'overall'), 'us'), 'bw': (n[5] * MIB / 1e6, 'MB/s'),
                    'rate': (n[7] / 1e3, 'kmsg/s')}
    raise Unreadable('there is no line "Final:"')


def fi(text):
    """bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec"""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 8 and words[0].isdigit() and words[4].endswith('s'):
            return {'lat': (positive(float(words[6]), 'usec/xfer'), 'us'), 'bw': (float(words[5]), 'MB/s')}
    raise Unreadable('there is no row of figures')


# what makes a connection with its queue pair, in the order of cmtime
CM_STEPS = ('create id', 'resolve addr', 'resolve route', 'create qp', 'connect')


def cmtime(text):
    """step: total ms, max ms, min us, us / conn; those that make a connection are added up."""
    found = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(':')
        words = rest.split()
        if colon and name.strip() in CM_STEPS and len(words) == 4:
            found[name.strip()] = float(words[3])
    missing = [s for s in CM_STEPS if s not in found]
    if missing:
        raise Unreadable(f'no line for {", ".join(missing)}')
    return {'connect': (positive(sum(found.values()), 'us / conn'), 'us')}


def engine_row(row):
    """A row of dmsperf's JSON, or of a program that shares its code."""
    out = {}
    for name, what, unit, scale in (('bw_MBps', 'bw', 'MB/s', 1), ('rate_kmsgps', 'rate', 'kmsg/s', 1),
                                    ('mean_us', 'mean', 'us', 1), ('p50_us', 'p50', 'us', 1), ('p99_us', 'p99', 'us', 1),
                                    ('p99.9_us', 'p99.9', 'us', 1), ('cpu_us_per_op', 'cpu', 'us', 1),
                                    ('achieved_ops', 'ops', '1/s', 1), ('ratio', 'ratio', '', 1)):
        if row.get(name) is not None:
            out[what] = (row[name] * scale, unit)
    return out


def engine(text, what):
    try:
        rows = json.loads(text)['rows']
    except (ValueError, KeyError) as e:
        raise Unreadable(f'no JSON: {e}') from e
    if not rows:
        raise Unreadable('no rows')
    got = engine_row(rows[-1] if what == 'streams' else rows[0])
    if what == 'lat' or what == 'connect':
        return {what: (positive(got['mean'][0], 'mean'), 'us'),
                **{f'{what}_{q}': got[q] for q in ('p50', 'p99') if q in got}}
    if what.endswith('-capacity'):
        return {what: (positive(got['ops'][0], 'achieved_ops'), '1/s')}
    if what in ('fetch', 'push', 'wirefetch', 'wirepush'):
        positive(got['ops'][0], 'achieved_ops')
        return {f'{what}_{name}': got[name] for name in ('mean', 'p50', 'p99', 'p99.9', 'cpu', 'ops') if name in got}
    if what == 'streams':
        return {'streams': (positive(got['ratio'][0], 'ratio'), 'x'), 'streams_bw': got['bw']}
    positive(got['bw'][0], 'bw')
    return {what: got[what], f'{what}_cpu': got['cpu']}


def read(form, text, what):
    """{figure: (value, unit)} of a program's output: WHAT, and what belongs to it."""
    if form == 'engine':
        return engine(text, what)
    found = {'perftest-bw': perftest_bw, 'perftest-lat': perftest_lat, 'ucx': ucx, 'fi': fi, 'cmtime': cmtime}[form](text)
    return {name: value for name, value in found.items() if name.split('_')[0] == what}
