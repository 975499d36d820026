# SPDX-License-Identifier: GPL-2.0-only
"""A picture of each group of summary.csv, by gnuplot."""

import os
import shutil
import subprocess

PICTURES = (('bw', 'bandwidth', 'MB/s'), ('rate', 'rate', 'kmsg/s'), ('lat', 'ping-pong, half of the round trip', 'us'),
            ('connect', 'opening of a connection', 'us'))
OPEN = (('fetch_mean', 'fetch, mean'), ('fetch_p99', 'fetch, P99'), ('fetch_cpu', 'fetch, CPU of an operation'),
        ('push_mean', 'push, mean'), ('push_p99', 'push, P99'), ('wirefetch_mean', 'fetch over hwsim, mean'),
        ('wirefetch_p99', 'fetch over hwsim, P99'), ('wirefetch_cpu', 'fetch over hwsim, CPU of an operation'),
        ('wirepush_mean', 'push over hwsim, mean'), ('wirepush_p99', 'push over hwsim, P99'))


def quoted(text):
    return '"' + str(text).replace('"', "'").replace('_', '\\\\_') + '"'


def bars(rows, title, unit):
    """One bar for each subject and size, with its smallest and largest run."""
    data = '\n'.join(f'{i} {r["value"]} {r["min"]} {r["max"]} '
                     + quoted(f'{r["subject"]}' + (f', {r["size"]} B' if r['size'] != '0' else '')
                              + (f', {r["streams"]} streams' if r['streams'] not in ('0', '1') else ''))
                     for i, r in enumerate(rows))
    return (f'set title {quoted(title)}\nset ylabel {quoted(unit)}\nset style fill solid 0.5\nset boxwidth 0.7\n'
            f'set xtics rotate by -40\nset yrange [0:*]\nset bmargin 9\nset rmargin 12\n$d << END\n{data}\nEND\n'
            'plot $d using 1:2:xtic(5) with boxes notitle, $d using 1:2:3:4 with yerrorbars notitle\n')


def curves(rows, title):
    """One line for each subject, over the load."""
    text, plots = '', []
    for n, subject in enumerate(sorted({r['subject'] for r in rows})):
        points = sorted((int(r['bench'].split(' at ')[1].split()[0]), r['value'], r['min'], r['max'])
                        for r in rows if r['subject'] == subject)
        text += f'$d{n} << END\n' + '\n'.join(' '.join(map(str, p)) for p in points) + '\nEND\n'
        plots.append(f'$d{n} using 1:2:3:4 with yerrorlines title {quoted(subject)}')
    return (f'set title {quoted(title)}\nset xlabel "per cent of what both can do"\nset ylabel "us"\nset yrange [0:*]\n'
            f'set xrange [0:100]\nset key top left\n{text}plot ' + ', '.join(plots) + '\n')


def draw(rows, out):
    """PNG files in OUT; without gnuplot none, which is said."""
    if not shutil.which('gnuplot'):
        print('bench: no pictures: gnuplot is not installed')
        return
    have = [r for r in rows if r['value']]
    scripts = {}
    for bench, title, unit in PICTURES:
        mine = [r for r in have if r['bench'] == bench and r['unit'] == unit]
        # the rate of messages of 1 MiB is nothing but the bandwidth
        mine = [r for r in mine if bench != 'rate' or r['size'] == '64']
        if mine:
            scripts[bench] = bars(mine, title, unit)
    for bench, title in OPEN:
        sizes = {r['size'] for r in have if r['bench'].startswith(bench + ' at ')}
        for size in sizes:
            mine = [r for r in have if r['bench'].startswith(bench + ' at ') and r['size'] == size]
            scripts[f'{bench}_{size}'] = curves(mine, f'{title}, {size} bytes')
    for name, script in scripts.items():
        path = os.path.join(out, name + '.png')
        text = f'set terminal png size 1200,700\nset output "{path}"\nset grid ytics\n{script}'
        subprocess.run(['gnuplot'], input=text, text=True, check=False)
